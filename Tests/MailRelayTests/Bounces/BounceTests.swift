import MailRelay
import Testing

@Suite("Bounces")
struct BounceTests {
    static let cases: [(String, BounceExplanation.Code, BounceExplanation.Cause)] = [
        ("550 5.1.1 <bounce@send.app.test>: unauthorized sender", .unauthorizedSender, .configuration),
        ("550-5.1.1 <abc@privaterelay.appleid.com>: user not found", .userNotFound, .recipient),
        ("550 5.1.1 bad mailbox name", .badMailboxName, .configuration),
        ("554 5.7.1 [HME1] This message was rejected for failing both SPF and DKIM", .bothPathsFailed, .configuration),
        ("554 5.7.1 Your message was rejected due to app.test's DMARC policy.", .dmarcPolicy, .configuration),
        ("550 5.7.1 transformation error", .transformationError, .configuration),
        ("550 5.7.1 Relay not permitted", .relayNotPermitted, .recipient),
        ("450 4.1.8 <x@y.test>: Sender address rejected: Domain not found", .senderDomainNotFound, .configuration),
        ("421 4.7.1 Messages deferred due to excessive volume. Try again later", .excessiveVolume, .load),
        ("554 5.7.1 [CS01] Message rejected due to local policy.", .localPolicy, .load),
        ("550 5.7.1 Mail from IP 192.0.2.1 was rejected due to listing in Spamhaus SBL.", .localPolicy, .load),
        ("550 5.7.0 Blocked - see https://support.proofpoint.com/dnsbl-lookup.cgi?ip=192.0.2.1", .localPolicy, .load),
        ("550 5.1.1 <x@icloud.com>: user does not exist", .userNotFound, .recipient),
        ("550 5.1.1 <x@icloud.com>: inactive email address", .userNotFound, .recipient),
        ("550 5.1.1 unknown or illegal alias: x@icloud.com", .userNotFound, .recipient),
        ("550 5.1.6 recipient no longer on server: x@icloud.com", .userNotFound, .recipient),
        ("554 5.7.1 [CS01] rejected due to local policy, not: user unknown", .localPolicy, .load),
        ("550 5.1.1 mx1.proofpoint.test said: user unknown", .userNotFound, .recipient),
        ("552 5.2.2 <x@privaterelay.appleid.com>: over quota", .mailboxFull, .recipient),
        ("550 5.9.9 what is this", .unrecognized, .unknown),
        // Addresses contain digits that are not status codes; Apple's servers are in 17.0.0.0/8.
        ("550 5.1.1 <a@b.test>: user not found (host mx.test[17.44.1.85] said)", .userNotFound, .recipient),
        ("550 5.1.1 <a@b.test>: user not found (host mx.test[17.5.1.8] said)", .userNotFound, .recipient),
        ("450 4.1.8 <x@y.test>: Sender address rejected", .senderDomainNotFound, .configuration),
        // The sender address was looked up in its own domain: the unknown user is the sender.
        (
            "550 5.1.0 <x@y.test>: Sender address rejected: User unknown in local recipient table", .senderNotFound,
            .configuration
        ),
        (
            "550 5.1.7 <x@y.test>: Sender address rejected: undeliverable address: host mx.y.test[192.0.2.1] said: "
                + "550 5.1.1 <x@y.test>: Recipient address rejected: User unknown in virtual mailbox table",
            .senderNotFound, .configuration
        ),
        (
            "550-Verification failed for <x@y.test> 550-No such user 550 Sender verify failed", .senderNotFound,
            .configuration
        ),
        ("450 4.1.2 <x@y.test>: Recipient address rejected: Domain not found", .unrecognized, .unknown),
        // The receiver's own access list rejects the sender, which may well exist.
        ("554 5.7.1 <x@y.test>: Sender address rejected: Access denied", .localPolicy, .load),
        ("550 5.4.1 <x@y.test>: Recipient address rejected: Access denied", .unrecognized, .unknown),
        // Our own Exim server, to which the mailer has not authenticated.
        ("550 relay not permitted", .unrecognized, .unknown),
    ]

    @Test("texts of Apple's servers", arguments: cases)
    func texts(reply: String, code: BounceExplanation.Code, cause: BounceExplanation.Cause) throws {
        let parsed = try #require(BounceReply.replies(in: reply.utf8).first)
        let explanation = BounceExplanation(parsed)
        #expect(explanation.code == code && explanation.cause == cause)
        #expect(parsed.status == Int(reply.prefix(3)))
    }

    @Test(
        "the codes are found in whatever a mailer puts around them",
        arguments: [
            "550: 5.1.1 <a@b.test>: user not found", "smtp;550 5.1.1 user not found",
            "Remote Server returned '550 5.1.1 <a@b.test>: user not found'", "#550-5.1.1 user not found",
            "mx.b.test:587 (Exim 4.94.2) said: 550 5.1.1: user not found",
            #"{"delivery-status":{"attempt-no":1,"code":550,"message":"5.1.1 <a@b.test>: user not found"}}"#,
            #"{ "attempt-no": 1, "message": "5.1.1 <a@b.test>: user not found", "code": 550 }"#,
        ]
    )
    func quotedCodes(_ text: String) throws {
        let reply = try #require(BounceReply.replies(in: text.utf8).first)
        #expect(reply.status == 550)
        #expect(reply.enhancedCode == "5.1.1")
    }

    @Test("the same code can mean opposite things: when the fault is ours, the recipient is kept")
    func keepsRecipient() throws {
        let ours = try #require(BounceReply.replies(in: "550 5.1.1 <a@b.test>: unauthorized sender".utf8).first)
        let theirs = try #require(
            BounceReply.replies(in: "550 5.1.1 <a@privaterelay.appleid.com>: user not found".utf8).first
        )
        #expect(ours.enhancedCode == theirs.enhancedCode)
        #expect(BounceExplanation(ours).keepsRecipient && !BounceExplanation(theirs).keepsRecipient)
    }

    @Test("a delivery-status message gives one reply for each recipient")
    func deliveryStatus() {
        let message = """
            From: MAILER-DAEMON@esp.test
            Content-Type: multipart/report; report-type=delivery-status; boundary=b

            --b
            Content-Type: message/delivery-status

            Reporting-MTA: dns; out.esp.test

            Final-Recipient: rfc822; abc@privaterelay.appleid.com
            Action: failed
            Status: 5.1.1
            Remote-MTA: dns; smtp2.privaterelay.appleid.com
            Diagnostic-Code: smtp; 550 5.1.1 <bounce@send.app.test>:
                unauthorized sender

            Final-Recipient: rfc822; def@privaterelay.appleid.com
            Status: 4.7.1
            Diagnostic-Code: smtp; 421 4.7.1 excessive volume

            --b--
            """
        let replies = BounceReply.replies(in: message.utf8)
        #expect(replies.map { BounceExplanation($0).code } == [.unauthorizedSender, .excessiveVolume])
        #expect(replies.first?.recipient == "abc@privaterelay.appleid.com")
        #expect(replies.first?.server == "smtp2.privaterelay.appleid.com")
        #expect(replies.first?.enhancedCode == "5.1.1")
    }

    @Test("the header of a bounce without delivery statuses is no part of the reply")
    func headerOfABounce() throws {
        let header = """
            Return-Path: <>
            Authentication-Results: mx.app.test;
                spf=pass; dmarc=pass
            From: MAILER-DAEMON@app.test
            Subject: failure notice
            """
        let body = """
            Hi. This is the qmail-send program at app.test.

            <abc@privaterelay.appleid.com>:
            Remote host said: 550 5.1.1 <abc@privaterelay.appleid.com>: user not found
            """
        for lineEnd in ["\n", "\r\n"] {
            for start in ["", "\n", "From MAILER-DAEMON Sat Nov 28 00:00:00 2026\n"] {
                let mail = "\(start)\(header)\n\n\(body)\n".replacing("\n", with: lineEnd)
                let reply = try #require(BounceReply.replies(in: mail.utf8).first)
                #expect(BounceExplanation(reply).code == .userNotFound)
                #expect(reply.status == 550)
            }
        }
        #expect(BounceReply.replies(in: "\(header)\n\n".utf8).isEmpty)
        // A reply alone has no header, whatever follows it.
        let alone = "550: 5.1.1 user not found\n\nfrom: mx.app.test".utf8
        #expect(BounceReply.replies(in: alone).first?.status == 550)
    }

    @Test("the server's own code takes precedence over the mailer's interpretation")
    func serversOwnCode() {
        let message =
            "Final-Recipient: rfc822; abc@privaterelay.appleid.com\nStatus: 5.0.0\n"
            + "Diagnostic-Code: smtp; 550 5.7.1 Relay not permitted\n\n"
            + "Final-Recipient: rfc822; def@privaterelay.appleid.com\nStatus: 5.7.1\n"
            + "Diagnostic-Code: smtp; 550 Relay not permitted\n\n"
            + "Final-Recipient: rfc822;ghi@privaterelay.appleid.com\nStatus: 5.7.1 (delivery not authorized)\n"
            + "Diagnostic-Code: smtp;550 Relay not permitted\n"
        let replies = BounceReply.replies(in: message.utf8)
        #expect(replies.map(\.enhancedCode) == ["5.7.1", "5.7.1", "5.7.1"])
        #expect(replies.allSatisfy { BounceExplanation($0).code == .relayNotPermitted })
    }

    @Test("a diagnostic code without a type is read whole, though a semicolon stands in it")
    func diagnosticCodeWithoutType() {
        let message =
            "Final-Recipient: rfc822; abc@privaterelay.appleid.com\nStatus: 5.1.1\n"
            + "Diagnostic-Code: 550 5.1.1 <bounce@send.app.test>: unauthorized sender; see https://app.test\n\n"
            + "Final-Recipient: rfc822 ; def@privaterelay.appleid.com\n"
            + "Diagnostic-Code: smtp ; 550 5.1.1 user not found; see https://app.test\n\n"
            + "Final-Recipient: rfc822; ghi@privaterelay.appleid.com\nDiagnostic-Code: 550; user not found\n"
        let replies = BounceReply.replies(in: message.utf8)
        #expect(replies.map { BounceExplanation($0).code } == [.unauthorizedSender, .userNotFound, .userNotFound])
        #expect(replies.map(\.status) == [550, 550, 550])
        let recipients: [String?] = ["abc", "def", "ghi"].map { $0 + "@privaterelay.appleid.com" }
        #expect(replies.map(\.recipient) == recipients)
    }

    @Test("an indented line after an empty one does not join two recipients")
    func indentedRecipients() {
        let message =
            "Final-Recipient: rfc822; abc@privaterelay.appleid.com\nDiagnostic-Code: smtp; 550 5.1.1 user not found\n\n"
            + " Final-Recipient: rfc822; def@privaterelay.appleid.com\nStatus: 4.7.1\n"
            + "Diagnostic-Code: smtp; 421 4.7.1 excessive volume\n"
        let replies = BounceReply.replies(in: message.utf8)
        #expect(replies.map { BounceExplanation($0).code } == [.userNotFound, .excessiveVolume])
    }

    @Test("empty input gives no replies; garbage and endless input do no harm")
    func rubbish() {
        #expect(BounceReply.replies(in: "".utf8).isEmpty)
        #expect(BounceReply.replies(in: " \r\n\t".utf8).isEmpty)
        let bytes = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(BounceReply.replies(in: bytes).count == 1)
    }
}
