import Testing

@testable import Benchmarks

@Suite struct BenchmarkListTests {
    /// Each goal that the README tells a figure for can be measured by its name.
    @Test(arguments: [
        "driver.roundtrip", "deletion.rate", "lookup.find", "migrate.apply", "migrate.idle", "verify.single",
        "verify.batch", "memory.idle", "memory.load", "cli.start", "operator.list", "operator.bulk",
    ])
    func everyFigureWithAGoalHasAName(_ name: String) {
        #expect(Benchmark.all.count { $0.name == name } == 1)
    }

    @Test func aGroupNamesAllOfItsFigures() {
        #expect(Benchmark.all.count { $0.isNamed(by: "queue.enqueue") } == 3)
        #expect(Benchmark.all.filter { $0.isNamed(by: "queue") }.map(\.name).allSatisfy { $0.hasPrefix("queue.") })
        #expect(!Benchmark.all.contains { $0.isNamed(by: "que") })
    }
}
