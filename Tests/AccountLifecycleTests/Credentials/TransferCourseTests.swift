import Foundation
import Testing

@testable import AccountLifecycle
@testable import SignInWithApple

struct TransferCourseTests {
    private static func course(recordsAtOnce: Bool = false) -> TransferCourse {
        TransferCourse(after: UUID(), recordsAtOnce: recordsAtOnce)
    }

    private static func doubt(_ subject: String = "000123.abc.0456") -> TransferCourse.Doubt {
        TransferCourse.Doubt(user: UUID(), subject: subject, refusal: AppleRefusal(code: .invalidRequest))
    }

    /// The twentieth refusal in a row asks for a witness; a user who is named begins the count anew.
    @Test func refusalsInARowAskForAWitness() {
        var course = Self.course()
        #expect(course.lastStep == .goOn)
        for _ in 1..<TransferCourse.refusalsInARow { #expect(course.refused(Self.doubt()) == .goOn) }
        #expect(course.lastStep == .askWitness)
        course.named(recorded: 1)
        #expect(course.lastStep == .record)
        #expect(course.takeDoubts().count == TransferCourse.refusalsInARow - 1)
        #expect(course.lastStep == .goOn)
        for _ in 1..<TransferCourse.refusalsInARow { #expect(course.refused(Self.doubt()) == .goOn) }
        #expect(course.refused(Self.doubt()) == .askWitness)
    }

    @Test func whoIsAskedAboutAgainIsRecordedAtOnce() {
        var course = Self.course(recordsAtOnce: true)
        #expect(course.refused(Self.doubt()) == .record)
    }

    /// Only a refusal right after another says nothing about the token.
    @Test func aTokenIsDoubtedOnceForConsecutiveRefusals() {
        var course = Self.course()
        #expect(!course.isAfterRefusal)
        _ = course.refused(Self.doubt())
        #expect(course.isAfterRefusal)
        course.named(recorded: 0)
        #expect(!course.isAfterRefusal)
        _ = course.refused(Self.doubt())
        course.witnessNamed()
        #expect(!course.isAfterRefusal)
    }

    @Test func nothingIsRecordedIfNoWitnessIsNamed() {
        var course = Self.course()
        for _ in 0..<3 { _ = course.refused(Self.doubt()) }
        course.noWitnessNamed()
        #expect(course.result.doubted == 3)
        #expect(course.result.refused == 0)
        #expect(course.result.stoppedBy?.contains("invalid_request") == true)
    }

    /// Apple's own time is waited for, and a second where it names none; the fifth answer in a row without a verdict
    /// ends the run.
    @Test func aRunEndsWhereAppleGivesNoVerdict() {
        let delay = AppleDelay(.throttled)
        var course = Self.course()
        #expect(course.wait(AppleDelay(.throttled, retryAfter: .seconds(7))) == .seconds(7))
        for _ in 0..<3 { #expect(course.wait(delay) == .seconds(1)) }
        #expect(course.wait(delay) == nil)
        course.named(recorded: 1)
        for _ in 0..<4 { #expect(course.wait(delay) == .seconds(1)) }
        _ = course.refused(Self.doubt())
        for _ in 0..<4 { #expect(course.wait(delay) == .seconds(1)) }
        #expect(course.wait(delay) == nil)
    }

    /// Twenty locked accounts in a row are passed and told of; one more ends the run.
    @Test func lockedAccountsArePassed() {
        var course = Self.course()
        for _ in 0..<20 { course.passLocked(UUID()) }
        #expect(!course.isHeldUp)
        course.passLocked(UUID())
        #expect(course.isHeldUp)
        course.reached()
        #expect(!course.isHeldUp)
        #expect(course.result.stoppedBy == "21 accounts are held locked by another session, such as a deletion")
        course.stop("another reason")
        #expect(course.result.stoppedBy == "another reason")
    }

    @Test func whoIsLockedGoneOrInDoubtIsNotAskedAboutAgain() {
        let (locked, gone, other) = (UUID(), UUID(), UUID())
        let inDoubt = Self.doubt("000123.inDoubt.0456")
        let page = TransferPage([
            (locked, "000123.locked.0456"), (gone, "000123.gone.0456"), (inDoubt.user, inDoubt.subject),
            (UUID(), nil), (other, "000123.other.0456"),
        ])
        var course = Self.course()
        #expect(course.pass(page).count == 4)
        course.passLocked(locked)
        course.passGone(gone)
        _ = course.refused(inDoubt)
        #expect(course.pass(page).map(\.user) == [other])
        #expect(course.walk.position == other)
    }

    @Test func whatIsRecordedIsCounted() {
        var course = Self.course()
        course.named(recorded: 1)
        course.named(recorded: 0)
        course.refusalRecorded(1)
        #expect(course.result.done == 1)
        #expect(course.result.refused == 1)
        #expect(course.processed == 2)
    }
}
