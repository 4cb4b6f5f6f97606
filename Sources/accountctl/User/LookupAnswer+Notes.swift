import AccountLifecycle
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension LookupAnswer {
    /// The notes that people see beside the rows.
    var notes: [String] {
        let open = matches.compactMap { match -> String? in
            guard case .deletion(let deletion) = match.standing else { return nil }
            return "\(match.id.text) is to be erased by \(Wording.moment(deletion.legalDeadline)): "
                + "\(deletion.place); request \(deletion.request.text)"
        }
        if matches.isEmpty { return leaving.isEmpty ? [absence] : leaving.map(\.sentence) }
        let held = matches.filter(\.isHeld).map {
            "\($0.id.text) is under a legal hold: it is not erased until that is released"
        }
        return open + held + erased.compactMap(\.receipt).map { "receipt \($0) is that of an account that was erased" }
    }
}
