import Testing

@testable import Postgres

@Suite struct OperationTests {
    private let start = ContinuousClock.now

    private func operation(cancellable: Bool = true) -> Operation {
        Operation(deadline: start.advanced(by: .seconds(10)), isCancellable: cancellable, grace: .seconds(2))
    }

    @Test func goesOnUntilTheDeadline() {
        let operation = operation()
        #expect(operation.verdict(at: start, taskIsCancelled: false) == .goOn)
        #expect(
            operation.verdict(at: start.advanced(by: .seconds(10)), taskIsCancelled: false) == .interrupt(.deadline)
        )
    }

    @Test func aCancelledTaskInterruptsOnlyWhatMayBe() {
        #expect(operation().verdict(at: start, taskIsCancelled: true) == .interrupt(.cancelled))
        #expect(operation(cancellable: false).verdict(at: start, taskIsCancelled: true) == .goOn)
    }

    @Test func aConnectionThatIsBeingOpenedIsDroppedWithoutAGrace() {
        for isCancellable in [true, false] {
            var operation = operation(cancellable: isCancellable)
            operation.dropAt = start.advanced(by: .milliseconds(300))
            #expect(operation.nextLook(at: start) == operation.dropAt)
            #expect(operation.verdict(at: start.advanced(by: .milliseconds(299)), taskIsCancelled: false) == .goOn)
            #expect(operation.verdict(at: start.advanced(by: .milliseconds(300)), taskIsCancelled: true) == .abandon)
        }
    }

    @Test func isAbandonedAfterTheGraceAndInterruptedOnce() {
        var operation = operation()
        operation.interrupted(.cancelled, at: start)
        #expect(operation.verdict(at: start.advanced(by: .seconds(1)), taskIsCancelled: true) == .goOn)
        #expect(operation.nextLook(at: start) == start.advanced(by: .seconds(2)))
        #expect(operation.verdict(at: start.advanced(by: .seconds(2)), taskIsCancelled: true) == .abandon)
        operation.interrupted(.deadline, at: start)
        #expect(operation.interruption == .cancelled)
    }
}
