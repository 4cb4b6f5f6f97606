import Foundation
import Testing

@testable import JobQueue

/// When parked jobs are made available again, without a table or a clock.
@Suite struct ParkedRoundsTests {
    private let start = ContinuousClock.now

    private func at(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    private func begin(_ rounds: inout ParkedRounds, _ seconds: Double) -> [ParkedRounds.Round] {
        rounds.begin(now: at(seconds), serverTime: Date(timeIntervalSince1970: 1000 + seconds))
    }

    private func round(_ reason: ParkedRounds.Reason, _ since: Double) -> ParkedRounds.Round {
        ParkedRounds.Round(reason: reason, since: Date(timeIntervalSince1970: 1000 + since))
    }

    @Test func allAreDueAtOnceAndThenAtTheirPace() {
        var rounds = ParkedRounds(interval: .seconds(5), now: start)
        #expect(rounds.isDue(now: start))
        for round in begin(&rounds, 0) { rounds.brought(1, in: round, now: start) }
        #expect(!rounds.isDue(now: at(4)))
        var begun: [ParkedRounds.Reason: [Double]] = [:]
        for second in stride(from: 1.0, through: 70, by: 1) {
            for round in begin(&rounds, second) {
                #expect(round == self.round(round.reason, second))
                begun[round.reason, default: []].append(second)
                rounds.brought(0, in: round, now: at(second))
            }
        }
        // Undecodable jobs are tried once.
        #expect(begun == [.limits: Array(stride(from: 5.0, through: 70, by: 5)), .newer: [30, 60]])
    }

    @Test func aRoundThatFindsAsManyAsItMayGoesOnAtOnce() {
        for reason in ParkedRounds.Reason.allCases {
            var rounds = ParkedRounds(interval: .seconds(5), now: start)
            for round in begin(&rounds, 0) {
                rounds.brought(round.reason == reason ? JobQueue.unparkedAtOnce : 1, in: round, now: start)
            }
            #expect(rounds.isDue(now: at(1)))
            #expect(begin(&rounds, 1) == [round(reason, 0)])
            rounds.brought(1, in: round(reason, 0), now: at(1))
            #expect(!rounds.isDue(now: at(2)))
        }
    }

    /// A round whose statement failed reports nothing.
    @Test func aRoundThatFailedGoesOnAfterTheInterval() {
        var rounds = ParkedRounds(interval: .seconds(5), now: start)
        #expect(begin(&rounds, 0).count == 3)
        #expect(begin(&rounds, 4).isEmpty)
        #expect(begin(&rounds, 6) == [round(.limits, 0), round(.undecodable, 0)])
    }
}
