import Foundation
import TestSupport
import Testing

/// The ways in which job queues fail in the field, and the tests that check ours against each.
///
/// The oracle is a table of the effects of handlers: each test counts its rows.
///
/// | mode | what fails | held by |
/// | --- | --- | --- |
/// | 1 | a worker is killed: before, during, after its effect, within a batch | ProcessFailureTests.killedWorkersLoseNothing, KillPointTests.aKillIsCountedAndTheJobRunsAgain |
/// | 2 | a handler traps: its siblings recover, the poisonous job is found and given up | ProcessFailureTests.aPoisonousJobIsFoundAndItsSiblingsSurvive |
/// | 3 | a process is stopped for longer than its lease and goes on | ProcessFailureTests.aStoppedProcessComesBackTooLate, ProcessFailureTests.aStoppedProcessKeepsNobodyFromWorking, LimitsOfCodeTests.aClaimThatStandsStillKeepsNobodyFromBeginning |
/// | 4 | rescue meets a completion, another rescue, a heartbeat, a kind that the rescuer does not know | RescueRaceTests.aCompletionUnderWayIsNotRescued, RescueRaceTests.manyRescuersCountOneCrash, RescueRaceTests.aBeatInTimeKeepsItsJobs, RescueRaceTests.aBeatWaitsForARescueUnderWay, RescueRaceTests.aRescuerNeedNotKnowTheKind |
/// | 5 | the server: ended sessions, restarts, failover, a full disk, timeouts, conflicts, a black hole, a commit in doubt | ServerFailureTests.restartsAndLostConnectionsLoseNothing, FailoverTests.aFailoverIsFollowed, FailoverTests.aFailoverThatLosesTheEndOfTheLog, ServerFailureTests.aBlackHoleEndsTheLease, CutOffTests.takesNeitherItselfNorOthersForLost, ResourceFailureTests.aFullDiskLosesNothing, ResourceFailureTests.lockTimeoutsLoseNothing, ResourceFailureTests.refusedStatementsLoseNothing, WakeUpTests.anEnqueueInDoubtIsRepeatedSafely |
/// | 6 | a wake-up is lost: before LISTEN, while reconnecting, on a socket that is open and dead | WakeUpTests.aDeafListenerCostsOnePoll, WakeUpTests.whatCameMeanwhileIsFoundAfterReconnecting, FairnessTests.jobsAreFoundByNotificationOrByPolling |
/// | 7 | an old snapshot, or a slot, keeps dead rows | PinnedSnapshotTests.claimsStayCheapBehindAnOldSnapshot, PinnedWorkerTests.aWorkersClaimsStayCheapBehindAnOldSnapshot, PinnedLimitTests.claimsUnderLimitsStayCheapBehindAnOldSnapshot, PinnedLimitTests.claimsUnderLimitsStayCheapBehindASlot, GaugeTests.gaugesFollowTheTables |
/// | 8 | masses that must not be in the way; statistics of an empty table; generic plans; one blocked key | PlanTests.hotStatementsUseTheirIndexes, LimitTests.aBlockedKeyIsParked |
/// | 9 | many enqueue at once, in long transactions; a commit that comes late, below what was claimed since | ServerFailureTests.longTransactionsThatCommitInAnyOrder, LateCommitTests.aLateCommitIsFound, FairnessTests.aWakerCoalescesAndSendsTheLast |
/// | 10 | unique keys: the winner rolls back, a retry meets a newer duplicate, duplicates within one call, deadlocks | EnqueueTests.theWinnerOfAUniqueKeyRollsBack, OperatorRaceTests.aRetryMeetsANewerJobOfItsKey, EnqueueTests.uniqueKeysHoldWithinAndBetweenBatches, EnqueueTests.keysInAnyOrderDoNotDeadlock, WorkerTests.operatorsBringJobsBack |
/// | 11 | shutdown: waits, is cut short, uses no attempt | ProcessFailureTests.shutdownUsesNoAttempt, ProcessFailureTests.theGraceEndsAndUsesNoAttempt, StopTests.aWorkerThatHoldsNothingStopsWithoutTheDatabase |
/// | 12 | releases side by side: unknown kinds, old and undecodable arguments | ReleaseTests.unknownAndUndecodableJobsDoNotStopOthers, ReleaseTests.theNextReleaseRunsWhatTheLastSetAside, BadInputTests.argumentsOfOtherVersions |
/// | 13 | clocks: a client hours off, daylight saving, many schedulers | ClockTests.aSkewedWorkerKeepsTheServersTime, CronScheduleTests.aSkippedTimeRunsWhenTheClocksJump, CronScheduleTests.aRepeatedTimeRunsOnce, ReleaseTests.eachInstantOfAScheduleIsEnqueuedOnce |
/// | 14 | order and turns: priorities, starvation, serial keys, pause, cancel while running or retrying | WorkerTests.prioritiesComeFirst, FairnessTests.oldJobsMoveUp, LimitTests.aKeyRunsSoManyAtOnce, WorkerTests.pausedQueuesRest, WorkerTests.cancelReachesWaitingAndRunningJobs, OperatorRaceTests.aCancelMeetsARetry |
/// | 15 | interleavings nobody thought of | SimulationTests.invariantsHoldInEveryInterleaving, ModelConformanceTests.theModelDoesWhatTheStatementsDo |
/// | 16 | a pooler in transaction mode; too few connections | ServerFailureTests.tooFewConnectionsLoseNothing, ServerFailureTests.aTransactionPoolerLeavesPollingOnly |
/// | 17 | growth over hours | `Benchmarks soak`, whose gates fail when tables, indexes, memory or WAL per job grow |
@Suite struct FailureModeTests {
    @Test func eachModeIsHeldByTestsThatExist() throws {
        let files = Repository.swiftFiles(below: "Tests/JobQueueTests")
        let table = try text(of: "FailureModeTests", among: files)
        let rows = table.split(separator: "\n").filter { $0.wholeMatch(of: /\/\/\/ \| \d+ \|.*/) != nil }
        #expect(rows.count == 17)
        for row in rows where !row.contains("Benchmarks soak") {
            let names = row.matches(of: /([A-Z]\w+Tests)\.(\w+)/)
            #expect(!names.isEmpty, "\(row)")
            for name in names {
                let source = try text(of: name.1, among: files)
                #expect(source.contains("func \(name.2)("), "\(name.0)")
            }
        }
    }

    private func text(of suite: Substring, among files: [String]) throws -> String {
        let file = try #require(files.first { $0.hasSuffix("/\(suite).swift") }, "\(suite)")
        return try String(contentsOfFile: file, encoding: .utf8)
    }
}
