import Foundation
import TestSupport
import Testing

/// The ways in which job queues fail in the field, and the tests that check ours against each.
///
/// The oracle is a table of the effects of handlers: each test counts its rows.
///
/// | mode | what fails | tested by |
/// | --- | --- | --- |
/// | 1 | a worker is killed: before, during, after its effect, within a batch | ProcessFailureTests.killedWorkersLoseNothing, KillPointTests.aKillIsCountedAndTheJobRunsAgain |
/// | 2 | a handler traps: other jobs recover, the poisonous job is found and discarded | ProcessFailureTests.aPoisonousJobIsFoundAndItsSiblingsSurvive |
/// | 3 | a process is stopped for longer than its lease and then continued | ProcessFailureTests.aStoppedProcessComesBackTooLate, ProcessFailureTests.aStoppedProcessKeepsNobodyFromWorking, LimitsOfCodeTests.aClaimThatStandsStillKeepsNobodyFromBeginning |
/// | 4 | a rescue races with a completion, another rescue or a heartbeat, or meets a kind that the rescuer does not know | RescueRaceTests.aCompletionUnderWayIsNotRescued, RescueRaceTests.manyRescuersCountOneCrash, RescueRaceTests.aBeatInTimeKeepsItsJobs, RescueRaceTests.aBeatWaitsForARescueUnderWay, RescueRaceTests.aRescuerNeedNotKnowTheKind |
/// | 5 | the server: ended sessions, restarts, failover, a full disk, timeouts, conflicts, a network that drops everything, a commit in doubt | ServerFailureTests.restartsAndLostConnectionsLoseNothing, FailoverTests.aFailoverIsFollowed, FailoverTests.aFailoverThatLosesTheEndOfTheLog, ServerFailureTests.aBlackHoleEndsTheLease, CutOffTests.takesNeitherItselfNorOthersForLost, ResourceFailureTests.aFullDiskLosesNothing, ResourceFailureTests.lockTimeoutsLoseNothing, ResourceFailureTests.refusedStatementsLoseNothing, WakeUpTests.anEnqueueInDoubtIsRepeatedSafely |
/// | 6 | a wake-up is lost: before LISTEN, while reconnecting, on a half-open socket | WakeUpTests.aDeafListenerCostsOnePoll, WakeUpTests.whatCameMeanwhileIsFoundAfterReconnecting, FairnessTests.jobsAreFoundByNotificationOrByPolling |
/// | 7 | an old snapshot, or a replication slot, keeps dead rows from vacuum | PinnedSnapshotTests.claimsStayCheapBehindAnOldSnapshot, PinnedWorkerTests.aWorkersClaimsStayCheapBehindAnOldSnapshot, PinnedLimitTests.claimsUnderLimitsStayCheapBehindAnOldSnapshot, PinnedLimitTests.claimsUnderLimitsStayCheapBehindASlot, GaugeTests.gaugesFollowTheTables |
/// | 8 | many rows that must not be in the way; statistics of an empty table; generic plans; one blocked key | PlanTests.hotStatementsUseTheirIndexes, LimitTests.aBlockedKeyIsParked |
/// | 9 | many clients enqueue at once, in long transactions; a late commit of a job that sorts below jobs claimed since | ServerFailureTests.longTransactionsThatCommitInAnyOrder, LateCommitTests.aLateCommitIsFound, FairnessTests.aWakerCoalescesAndSendsTheLast |
/// | 10 | unique keys: the winner rolls back, a retry meets a newer duplicate, duplicates within one call, deadlocks | EnqueueTests.theWinnerOfAUniqueKeyRollsBack, OperatorRaceTests.aRetryMeetsANewerJobOfItsKey, EnqueueTests.uniqueKeysHoldWithinAndBetweenBatches, EnqueueTests.keysInAnyOrderDoNotDeadlock, WorkerTests.operatorsBringJobsBack |
/// | 11 | a shutdown waits, is cut short, uses no attempt | ProcessFailureTests.shutdownUsesNoAttempt, ProcessFailureTests.theGraceEndsAndUsesNoAttempt, VerdictTests.aFailureReturnedAtAShutdownUsesNoAttempt, StopTests.aWorkerThatHoldsNothingStopsWithoutTheDatabase |
/// | 12 | overlapping releases: unknown kinds, old and undecodable arguments | ReleaseTests.unknownAndUndecodableJobsDoNotStopOthers, ReleaseTests.theNextReleaseRunsWhatTheLastSetAside, BadInputTests.argumentsOfOtherVersions |
/// | 13 | clocks: a client's clock is hours off, the server's is set back, daylight saving, many schedulers | ClockTests.aSkewedWorkerKeepsTheServersTime, ClockSetBackTests.aDeadWorkersJobsAreTaken, ClockSetBackTests.waitsBeginAnew, ReleaseTests.anInstantOfTheFutureIsForgotten, CronScheduleTests.aSkippedTimeRunsWhenTheClocksJump, CronScheduleTests.aRepeatedTimeRunsOnce, ReleaseTests.eachInstantOfAScheduleIsEnqueuedOnce |
/// | 14 | order: priorities, starvation, serial keys, pause, cancel while running or retrying | WorkerTests.prioritiesComeFirst, FairnessTests.oldJobsMoveUp, LimitTests.aKeyRunsSoManyAtOnce, WorkerTests.pausedQueuesRest, WorkerTests.cancelReachesWaitingAndRunningJobs, OperatorRaceTests.aCancelMeetsARetry |
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
