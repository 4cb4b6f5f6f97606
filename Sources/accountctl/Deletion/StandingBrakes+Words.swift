import AccountLifecycle
import Terminal

extension StandingBrakes {
    /// A sentence for each brake with the command that ends it, to be printed through ``FollowUp``; `names` are those
    /// of the act's target, nil for no particular request.
    func words(of names: ActNames?) -> [String] {
        var words: [String] = []
        if let everything { words.append(everything.words) }
        if let queue { words.append(Self.words(ofQueue: Self.queueName, queue.reason)) }
        guard let names else { return words }
        if isPaused {
            let told = own.map { FollowUp.asWritten($0.told) } ?? ""
            words.append("the request itself is paused\(told); resume with: accountctl deletion resume \(names.id)")
        }
        if isHeld, let account = names.account {
            words.append("the account is under a legal hold; end it with: accountctl user release \(account)")
        }
        return words
    }

    /// What is paused besides the request itself, in a few words: "everything is (incident 7)"; nil if nothing is.
    var pausedWhole: String? {
        let words = [everything.map { ("everything", $0) }, queue.map { ("the queue \(Self.queueName)", $0) }]
            .compactMap(\.self)
            .map { what, pause in what + " is" + (pause.reason.map { " (\($0))" } ?? "") }
        return words.isEmpty ? nil : SafeText.line(words.joined(separator: ", "))
    }

    /// A message about a paused queue, with the command that ends the pause.
    static func words(ofQueue name: String, _ reason: String?) -> String {
        let why = reason.map { ": " + FollowUp.asWritten($0) } ?? ""
        return "the queue \(name) is paused\(why); resume with: accountctl jobs resume \(name)"
    }
}

extension StandingBrakes.Pause {
    /// A message that every deletion is paused, with the command that ends the pause.
    var words: String {
        "every deletion is paused\(FollowUp.asWritten(told)); resume with: accountctl deletion resume --all"
    }

    /// Who paused it and why: ", by olga: incident 7".
    fileprivate var told: String {
        (by.map { ", by \($0)" } ?? "") + (reason.map { ": \($0)" } ?? "")
    }
}

extension Sheet.Fact {
    /// The fact whether a request is paused, by itself or with others; null if it has ended or does not exist.
    static func paused(_ brakes: StandingBrakes?) -> Sheet.Fact {
        let whole = brakes?.pausedWhole
        let alone = brakes?.pausedSince.map { since in
            SafeText.line("since \(Wording.moment(since))\(brakes?.own?.told ?? "")")
        }
        let words = [alone, whole].compactMap(\.self)
        return Sheet.Fact(
            "paused",
            "Paused",
            .bool(brakes.map { _ in !words.isEmpty }),
            words.isEmpty ? .none : .caution,
            shown: words.isEmpty ? nil : words.joined(separator: "; ")
        )
    }
}
