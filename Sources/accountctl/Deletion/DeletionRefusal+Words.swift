import AccountLifecycle
import Postgres

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension DeletionRefusal {
    /// The name of the refusal in the output.
    var word: String {
        switch self {
        case .begun: "begun"
        case .underWay: "under_way"
        case .busy: "busy"
        case .nothingLost, .identifiersReadable: "nothing_lost"
        case .notHeldUpByApple: "not_held_up_by_apple"
        case .lockedOut: "locked_out"
        case .pausedAgain: "paused_again"
        }
    }

    /// The reason for the refusal and what to do about it, in words for an operator.
    var words: String {
        switch self {
        case .begun(let step): "the step \(step.rawValue) has begun, which cannot be undone"
        case .underWay(let step, let request):
            """
            the step \(step.rawValue) is under way and cannot be interrupted; try again, and see: accountctl deletion show \
            \(request.text)
            """
        case .nothingLost: "it holds no sealed identifiers: none of them is lost"
        case .identifiersReadable(let key):
            "key \"\(key)\" is in keys.sealing_file, and opens the identifiers: none of them is lost"
        case .notHeldUpByApple:
            "neither Apple nor a missing sealing key holds it up: there is nothing to proceed without; deletion show says what "
                + "it waits for"
        case .lockedOut: "the account is already locked out: its deletion continues without Apple"
        case .busy: "somebody else is working on it; try again"
        case .pausedAgain:
            "somebody has paused it again since the question, for another reason, which deletion show says: "
                + "it stays paused"
        }
    }
}
