extension BounceExplanation {
    /// Classifies a reply by its text before its code, since Apple uses the same code (5.1.1) for opposite causes.
    ///
    /// Causes on our side are tested before causes on the recipient's side: an address kept by mistake bounces again,
    /// but an address given up by mistake is lost.
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
            // Without the code, this is Exim's text, sent by one of our own servers to which the mailer has not
            // authenticated.
            code = .relayNotPermitted
        } else if has("domain not found") && !has("recipient address rejected")
            || ["4.1.8", "5.1.8"].contains(reply.enhancedCode)
        {
            code = .senderDomainNotFound
        } else if hasAny(Self.refusedSender), has("access denied") {
            // The server matched the sender against a block list of its own; it did not check that the sender exists.
            code = .localPolicy
        } else if hasAny(Self.refusedSender) || ["4.1.7", "5.1.7"].contains(reply.enhancedCode) {
            // Must precede the unknown-user test: such a text quotes "unknown user" about the sender.
            code = .senderNotFound
        } else if has("excessive volume") || has("too many messages") || has("rate limit") {
            code = .excessiveVolume
        } else if has("[cs01]") || has("local policy") || has("spamhaus") {
            code = .localPolicy
        } else if hasAny(Self.unknownUser) {
            code = .userNotFound
        } else if has("proofpoint") {
            // Must come last: a reply about an unknown user may also name a Proofpoint server.
            code = .localPolicy
        } else if has("mailbox full") || has("over quota") || reply.enhancedCode?.hasSuffix("2.2") == true {
            code = .mailboxFull
        } else {
            code = .unrecognized
        }
        self.init(code)
    }

    /// How servers say that their callback to the sender's own server did not confirm the sender.
    private static let refusedSender = ["sender address rejected", "sender rejected", "sender verif"]

    /// How Apple's servers say that an address does not exist; the servers of icloud.com, which may host relay
    /// addresses as well, use texts of their own.
    private static let unknownUser = [
        "user not found", "user unknown", "no such user", "user does not exist", "inactive email address",
        "unknown or illegal alias", "recipient no longer on server",
    ]
}
