import ArgumentParser

#if DEBUG
    import Foundation
#endif

/// Measures figures and prints them.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Measures figures, all of them unless some are named."
    )

    @Argument(help: "The figures, by the names that `list` prints, or by what several begin with: `queue`.")
    var names: [String] = []

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func validate() throws {
        let unknown = names.filter { name in !Benchmark.all.contains { $0.isNamed(by: name) } }
        guard unknown.isEmpty else {
            throw ValidationError("unknown: \(unknown.joined(separator: ", ")). `Benchmarks list` names the figures.")
        }
    }

    func run() async throws {
        #if DEBUG
            FileHandle.standardError.write(Data("A debug build: its figures say little. Build with -c release.\n".utf8))
        #endif
        let chosen =
            names.isEmpty ? Benchmark.all : Benchmark.all.filter { names.contains(where: $0.isNamed) }
        var figures: [Figure] = []
        for benchmark in chosen {
            for figure in try await benchmark.measure() {
                figures.append(figure)
                // Printed immediately, so that a long run shows its progress.
                if json { print(try figure.jsonLine()) }
            }
        }
        if !json { print(FigureTable(figures).text) }
    }
}
