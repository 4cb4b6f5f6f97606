import Foundation
import TestSupport
import Testing

@testable import Benchmarks

@Suite struct BenchmarkListTests {
    @Test func whatTheDocumentationRunsIsThere() throws {
        var names: [String] = []
        for line in try Document.wholeText().matches(of: /Benchmarks run ([^\n]+)/) {
            names += line.1.split(separator: " ").map(String.init).filter { !$0.hasPrefix("--") }
        }
        #expect(!names.isEmpty)
        for name in names { #expect(Benchmark.all.contains { $0.isNamed(by: name) }, "\(name)") }
    }

    /// Two benchmarks with one name could not be told apart in a list of results.
    @Test func noTwoHaveOneName() {
        let names = Benchmark.all.map(\.name)
        #expect(Set(names).count == names.count)
    }

    @Test func aGroupNamesAllOfItsFigures() {
        #expect(Benchmark.all.count { $0.isNamed(by: "queue.enqueue") } == 3)
        #expect(Benchmark.all.filter { $0.isNamed(by: "queue") }.map(\.name).allSatisfy { $0.hasPrefix("queue.") })
        #expect(!Benchmark.all.contains { $0.isNamed(by: "que") })
    }
}
