import Testing

@testable import Benchmarks

@Suite("The gates of a soak") struct SoakGateTests {
    private static func sample(
        hot: Int = 100_000,
        index: Int = 100_000,
        memory: Double = 30,
        wal: Double = 1500,
        commits: Double = 0.1,
        waiting: Int = 10,
        lost: Int = 0
    ) -> SoakSample {
        SoakSample(
            minute: 1,
            hotBytes: hot,
            indexBytes: index,
            memory: memory,
            walPerJob: wal,
            commitsPerJob: commits,
            waiting: waiting,
            lost: lost
        )
    }

    /// The gates that fail if every sample in the second half of a soak is `late`.
    private func failures(_ late: SoakSample) -> [String] {
        let samples = Array(repeating: Self.sample(), count: 8) + Array(repeating: late, count: 8)
        return SoakGate.all(samples, rate: 100).filter { !$0.holds }.map(\.name)
    }

    @Test("All hold when nothing changes")
    func steady() {
        #expect(failures(Self.sample()).isEmpty)
        let gates = SoakGate.all(Array(repeating: Self.sample(), count: 4), rate: 100)
        #expect(gates.count == 7 && gates.allSatisfy { !$0.line.isEmpty })
    }

    @Test(
        "Each gate fails alone, by the figure that it checks",
        arguments: [
            (sample(hot: 151_000), "hot table, bytes"), (sample(index: 151_000), "its indexes, bytes"),
            (sample(memory: 37), "private memory, kB"), (sample(wal: 1900), "WAL per job, bytes"),
            (sample(commits: 0.13), "commits per job"), (sample(waiting: 101), "jobs waiting"),
            (sample(lost: 1), "jobs lost"),
        ]
    )
    func growth(_ late: SoakSample, _ name: String) {
        #expect(failures(late) == [name])
    }

    @Test("Warming up does not count as growth, nor does a single bad sample")
    func warming() {
        var samples = Array(repeating: Self.sample(hot: 10_000), count: 4) + Array(repeating: Self.sample(), count: 12)
        samples[15] = Self.sample(hot: 1_000_000, commits: 9)
        #expect(SoakGate.all(samples, rate: 100).allSatisfy { $0.holds })
    }

    @Test("Too few samples prove nothing")
    func tooFew() {
        #expect(SoakGate.all([], rate: 100).map { $0.holds } == [false])
        #expect(SoakGate.all(Array(repeating: Self.sample(), count: 3), rate: 100).map { $0.holds } == [false])
    }
}
