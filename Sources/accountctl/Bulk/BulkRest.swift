import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What of a list a run has to ask for, by its result file and by what the database has of that.
struct BulkRest {
    /// The accounts to ask for, in the order of the list.
    private(set) var left: [UUID] = []
    /// Accounts with a request that goes on, or was carried out.
    private(set) var doneBefore = 0
    /// Accounts whose request was cancelled since: not asked for again, as the person may have cancelled.
    private(set) var cancelled = 0
    /// Requests of the file that the database does not have; their accounts are among those that are left.
    private(set) var lost = 0

    /// Sorts the accounts of a list by what became of their requests.
    ///
    /// - Parameters:
    ///   - users: the accounts of the list.
    ///   - requests: the request of each account by the result file.
    ///   - known: where those requests stand that the database has.
    init(of users: [UUID], requests: [UUID: UUID], known: [UUID: DeletionState]) {
        for user in users {
            guard let request = requests[user] else {
                left.append(user)
                continue
            }
            switch Fate(of: known[request]) {
            case .lost:
                left.append(user)
                lost += 1
            case .cancelled: cancelled += 1
            case .kept: doneBefore += 1
            }
        }
    }

    /// What became of a request of the result file.
    private enum Fate {
        /// The database does not have it.
        case lost
        /// It was cancelled since.
        case cancelled
        /// It goes on, or was carried out.
        case kept

        /// What became of a request, by where it stands; nil where the database does not have it.
        init(of state: DeletionState?) {
            guard let state else {
                self = .lost
                return
            }
            self =
                switch state {
                case .cancelled: .cancelled
                case .requested, .grace, .held, .blocked, .waitingForApple, .running, .settling, .residue, .verified:
                    .kept
                }
        }
    }

    /// What an operator has to know before the rest is asked for.
    var warnings: [String] {
        var warnings: [String] = []
        if lost > 0 {
            let accounts = lost == 1 ? "its account counts" : "their accounts count"
            warnings.append(
                Wording.count(lost, "request of the result file is", "requests of the result file are")
                    + " not in this database, which is a copy or was restored: \(accounts) as not done"
            )
        }
        if cancelled > 0 {
            warnings.append(
                Wording.count(
                    cancelled,
                    "request of the result file was cancelled since, and is",
                    "requests of the result file were cancelled since, and are"
                ) + " left alone; another --result asks again"
            )
        }
        return warnings
    }
}
