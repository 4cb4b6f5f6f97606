import MailRelay
import Synchronization

/// Has nothing at hand but what it is told to have, and notes what it is asked.
final class DistantResolver: Resolver {
    private let zone: ZoneResolver
    private let near: Set<Question>
    private let questions = Mutex<(waited: [Question], atHand: [Question])>(([], []))

    init(_ zone: ZoneResolver, near: Set<Question> = []) {
        self.zone = zone
        self.near = near
    }

    /// What had to be waited for.
    var asked: [Question] { questions.withLock(\.waited) }

    /// What was taken because it was at hand.
    var taken: [Question] { questions.withLock(\.atHand) }

    func lookup(_ question: Question, by deadline: ContinuousClock.Instant) async -> LookupOutcome {
        questions.withLock { $0.waited.append(question) }
        return await zone.lookup(question, by: deadline)
    }

    func outcomeAtHand(_ question: Question) -> LookupOutcome? {
        guard near.contains(question) else { return nil }
        questions.withLock { $0.atHand.append(question) }
        return zone.outcomeAtHand(question)
    }
}
