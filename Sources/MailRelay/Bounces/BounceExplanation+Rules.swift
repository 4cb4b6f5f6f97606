extension BounceExplanation {
    /// Reads a reply by its text first, since Apple uses the same code (5.1.1) for opposite causes.
    ///
    /// What is ours goes before what is the recipient's: of an address that is kept in vain another refusal tells, one
    /// that was given up is lost.
    package init(_ reply: BounceReply) {
        let text = Array(reply.text.lowercased().utf8)
        func has(_ part: String) -> Bool { text.firstRange(of: Array(part.utf8)) != nil }
        func hasAny(_ parts: [String]) -> Bool { parts.contains(where: has) }
        let code: Code
        if has("unauthorized sender") {
            code = .unauthorizedSender
        } else if has("bad mailbox name") {
            code = .badMailboxName
        } else if has("[hme1]") || (has("spf and dkim") && has("fail")) {
            code = .bothPathsFailed
        } else if has("dmarc") {
            code = .dmarcPolicy
        } else if has("transformation error") {
            code = .transformationError
        } else if has("relay not permitted"), reply.enhancedCode == "5.7.1" {
            // Without the code it is Exim's text, of a server of ours to which the mailer has not signed in.
            code = .relayNotPermitted
        } else if has("domain not found") && !has("recipient address rejected")
            || ["4.1.8", "5.1.8"].contains(reply.enhancedCode)
        {
            code = .senderDomainNotFound
        } else if hasAny(Self.refusedSender), has("access denied") {
            // A list of the server's own names the sender: nobody was asked whether it exists.
            code = .localPolicy
        } else if hasAny(Self.refusedSender) || ["4.1.7", "5.1.7"].contains(reply.enhancedCode) {
            // Before the unknown user, whom such a text quotes: it is the sender.
            code = .senderNotFound
        } else if has("excessive volume") || has("too many messages") || has("rate limit") {
            code = .excessiveVolume
        } else if has("[cs01]") || has("local policy") || has("spamhaus") {
            code = .localPolicy
        } else if hasAny(Self.unknownUser) {
            code = .userNotFound
        } else if has("proofpoint") {
            // Last, since a server of theirs may also be named where it is the user who is unknown.
            code = .localPolicy
        } else if has("mailbox full") || has("over quota") || reply.enhancedCode?.hasSuffix("2.2") == true {
            code = .mailboxFull
        } else {
            code = .unrecognized
        }
        self.init(code)
    }

    /// How servers say that they asked the sender's own about the sender, in vain.
    private static let refusedSender = ["sender address rejected", "sender rejected", "sender verif"]

    /// How Apple's servers say that there is no such address; those of icloud.com, where relay addresses may lie as well,
    /// have words of their own.
    private static let unknownUser = [
        "user not found", "user unknown", "no such user", "user does not exist", "inactive email address",
        "unknown or illegal alias", "recipient no longer on server",
    ]
}
