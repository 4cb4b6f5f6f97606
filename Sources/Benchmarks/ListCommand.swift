import ArgumentParser

/// Names the figures.
struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Names the figures.")

    func run() {
        let width = Benchmark.all.map(\.name.count).max() ?? 0
        for benchmark in Benchmark.all {
            let padding = String(repeating: " ", count: width - benchmark.name.count)
            print("\(benchmark.name)\(padding)  \(benchmark.summary)")
        }
    }
}
