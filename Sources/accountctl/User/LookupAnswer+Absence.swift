import AccountLifecycle
import MailRelay
import Postgres
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a term names no account, and where to look instead.
extension LookupAnswer {
    /// The hint to search for parts of the term.
    static let partsHint = "Look for parts of it: accountctl user find --prefix TERM"

    /// The hint for an incomplete e-mail address.
    static func hint(ofPart address: String) -> String {
        address.hasPrefix("@") ? "Look for it anywhere in an address: accountctl user find --contains TERM" : partsHint
    }

    /// The hint where an account was erased.
    static func seeReceipt(_ number: Int64) -> String { "What was done: accountctl deletion receipt \(number)" }

    /// The hint if no account matches the whole term.
    func hintOfAbsence(_ relayDomains: RelayDomains) -> String? {
        if let leaving = leaving.first {
            return "See: accountctl deletion show \(leaving.deletion.request.text)"
        }
        if case .otherHashKeys(let names) = doubt, let others = OtherHashKeys(names) { return others.hint }
        if let receipt = erased.compactMap(\.receipt).first {
            return Self.seeReceipt(receipt)
        }
        guard erased.isEmpty else { return nil }
        // A person may have hidden this address behind a relay address.
        let mayBeHidden = term.email.map { !relayDomains.isRelay($0, appleClaim: nil) } ?? false
        return mayBeHidden ? Self.partsHint + "\n" + Self.hiddenHint : Self.partsHint
    }

    private static let hiddenHint = """
        A person who hides this address with Sign in with Apple is found by the relay address, which Apple shows to \
        that person.
        """

    /// Why no account was found, in a sentence on one line.
    var absence: String {
        let name = SafeText.quoted(term.text)
        if let leaving = leaving.first { return leaving.sentence }
        if let gone = erased.first {
            let receipt = gone.receipt.map { ", receipt \($0)" } ?? ""
            return "this account was erased on \(Wording.moment(gone.erasedAt))\(receipt)"
        }
        if !isInstalled {
            let unknown = doubt == nil ? "" : "; whether it was erased cannot be told"
            return "there is no account \(name)\(unknown); "
                + "the schema is not installed here: is this the right database?"
        }
        switch doubt {
        case .startOfID:
            return "there is no account \(name); whether it is the start of an erased one's id cannot be told"
        case .otherHashKeys(let names):
            return "there is no account \(name)" + (OtherHashKeys(names).map { "; " + $0.sentence } ?? "")
        case .noHashKey:
            return "there is no account \(name); whether it was erased cannot be told without keys.hash_file"
        case .notInstalled, nil: break
        }
        // Digits may be the number of a receipt, and were also compared as a phone number and a username.
        if term.userID != nil || term.kind == .receipt { return "there is no account \(name), and none was erased" }
        let saysCountry = term.text.contains("+") || term.text.hasPrefix("00")
        return "there is no account \(name) (an erased one is found by its user id or receipt only"
            + (term.phone == nil || saysCountry ? ")" : "; a phone number with its country's code only)")
    }
}
