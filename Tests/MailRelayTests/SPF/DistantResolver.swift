import MailRelay
import Synchronization

/// A resolver that has only the outcomes of the given questions at hand, and records every question.
final class DistantResolver: Resolver {
    private let zone: ZoneResolver
    private let near: Set<Question>
    private let questions = Mutex<(waited: [Question], atHand: [Question])>(([], []))

    init(_ zone: ZoneResolver, near: Set<Question> = []) {
        self.zone = zone
        self.near = near
    }

    /// The questions whose answers had to be waited for.
    var asked: [Question] { questions.withLock(\.waited) }

    /// The questions whose answers were taken from those at hand.
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
