import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRehearsal.Beginning {
    /// The rehearsal, if it could begin.
    ///
    /// - Throws: ``CommandError`` with the reason that it could not.
    func rehearsal() throws(CommandError) -> DeletionRehearsal {
        switch self {
        case .begun(let rehearsal): return rehearsal
        case .driven(let request, let holder):
            throw CommandError(
                .blocked,
                "the request \(request.text) of this account is already being worked on"
                    + (holder.map { ", by \(SafeText.line($0))" } ?? ""),
                hint: "Try again when that has ended or, if its process died, when the lease has ended: accountctl "
                    + "jobs workers"
            )
        case .setAside(let request, let job):
            throw CommandError(
                .blocked,
                "the job of the request \(request.text) of this account has been set aside",
                hint: "See why: accountctl jobs show \(job)"
            )
        case .cancelled(let request, let job):
            throw CommandError(
                .blocked,
                "the job of the request \(request.text) of this account is about to be cancelled",
                hint: "A worker cancels it, and gives the request another job; to undo the cancellation: accountctl "
                    + "jobs retry \(job)"
            )
        case .queuePaused(let reason):
            throw CommandError(.blocked, StandingBrakes.words(ofQueue: StandingBrakes.queueName, reason))
        case .unknownUser: throw CommandError.accountGone
        }
    }
}

extension DeletionRehearsal.Foresight {
    /// How far the rehearsal of an account would get, in one sentence.
    func words(of account: String) -> String {
        let request = details.summary
        let isBegun = request.lockedOutAt != nil
        if let step = nextStep {
            return isBegun
                ? "would continue to erase the account \(account), from the step \(step.rawValue)"
                : "would erase the account \(account) now, if Apple and Storage can be reached; what would be deleted "
                    + "with it: accountctl deletion plan \(account)"
        }
        return switch request.state {
        case .grace:
            "would wait: the grace period of the account \(account) ends at \(Wording.moment(request.runAfter))"
        case .settling: "would wait for the last search of the account \(account)"
        case .requested, .held, .blocked, .waitingForApple, .running, .residue, .verified, .cancelled:
            isBegun
                ? "would continue to erase the account \(account), and stop before its next step"
                : "would begin to erase the account \(account), and stop before its first step"
        }
    }
}
