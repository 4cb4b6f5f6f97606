import AccountLifecycle
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The accounts of a list that a run still has to request, according to its result file and to the requests in the
/// database.
struct BulkRest {
    /// The accounts to request, in the order of the list.
    private(set) var left: [UUID] = []
    /// Accounts whose request is in progress or was carried out.
    private(set) var doneBefore = 0
    /// Accounts whose request has since been cancelled: they are not requested again, as the person may have cancelled.
    private(set) var cancelled = 0
    /// Recorded requests that the database does not have; their accounts are counted in ``left``.
    private(set) var lost = 0

    /// Sorts the accounts of a list by what became of their recorded requests.
    ///
    /// - Parameters:
    ///   - users: the accounts of the list.
    ///   - requests: the request of each account, as recorded in the result file.
    ///   - known: the state of each of those requests that the database has.
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

    /// What became of a request recorded in the result file.
    private enum Fate {
        /// The database does not have it.
        case lost
        /// The request has since been cancelled.
        case cancelled
        /// The request is in progress or was carried out.
        case kept

        /// Derives the fate of a request from its state; nil if the database does not have the request.
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

    /// Warnings for the operator, to be shown before the rest is requested.
    var warnings: [String] {
        var warnings: [String] = []
        if lost > 0 {
            let accounts = lost == 1 ? "its account counts" : "their accounts count"
            warnings.append(
                Wording.count(lost, "request of the result file is", "requests of the result file are")
                    + " not in this database, perhaps since it is a copy or was restored: \(accounts) as not done"
            )
        }
        if cancelled > 0 {
            warnings.append(
                Wording.count(
                    cancelled,
                    "request of the result file has been cancelled since, and is",
                    "requests of the result file have been cancelled since, and are"
                ) + " left alone; another --result requests them again"
            )
        }
        return warnings
    }
}
