import Foundation
import Testing

@testable import SignInWithApple

@Suite struct AppleNotificationTests {
    private func verify(
        _ body: String,
        keys: AppleKeySet? = nil,
        arrived: Date = Claims.now
    ) throws -> AppleNotification.Verdict {
        AppleNotification.verify(
            body: Array(body.utf8),
            keys: try keys ?? Signer.keySet(.first, .second),
            audiences: ["com.example.app", "com.example.web"],
            arrived: arrived,
            now: Claims.now
        )
    }

    private func body(_ payload: String) throws -> String {
        #"{"payload":"\#(try Signer.first.sign(payload))"}"#
    }

    private func notification(_ payload: String) throws -> AppleNotification {
        guard case .verified(let notification) = try verify(body(payload)) else {
            Issue.record("refused: \(try verify(body(payload)))")
            throw CancellationError()
        }
        return notification
    }

    @Test func eventsAsStringObjectAndArray() throws {
        let event = AppleNotification.Event(
            type: .consentRevoked,
            sub: "001.a.2",
            occurredAt: Date(timeIntervalSince1970: 1_750_000_000.123),
            email: nil
        )
        for events in [
            Claims.quoted(Claims.event), Claims.event, "[\(Claims.event)]", Claims.quoted("[\(Claims.event)]"),
        ] {
            let notification = try notification(Claims.notification(events: events))
            #expect(notification.events == [event])
            #expect(notification.id == "jti-1")
            #expect(notification.audience == "com.example.app")
        }
        #expect(try notification(Claims.notification(events: "[\(Claims.event),\(Claims.event)]")).events.count == 2)
    }

    @Test func emailEventsCarryTheAddress() throws {
        let event =
            #"{"type":"email-disabled","sub":"s","event_time":"1750000000","email":"x@privaterelay.appleid.com","#
            + #""is_private_email":"true"}"#
        let notification = try notification(Claims.notification(events: event))
        #expect(notification.events.first?.type == .emailDisabled)
        #expect(notification.events.first?.email == "x@privaterelay.appleid.com")
        #expect(notification.events.first?.occurredAt == Date(timeIntervalSince1970: 1_750_000_000))
        #expect(!"\(notification) \(notification.events)".contains("privaterelay"))
    }

    @Test(arguments: [
        ("account-delete", AppleNotification.EventType.accountDeleted), ("account-deleted", .accountDeleted),
        ("email-enabled", .emailEnabled), ("something-new", .other("something-new")),
    ])
    func types(text: String, type: AppleNotification.EventType) throws {
        let events = #"{"type":"\#(text)","sub":"s","event_time":1750000000}"#
        #expect(try notification(Claims.notification(events: events)).events.first?.type == type)
    }

    @Test func aMissingTimeIsTheTimeOfIssue() throws {
        let notification = try notification(Claims.notification(events: #"{"type":"x","sub":"s"}"#))
        #expect(notification.events.first?.occurredAt == Date(timeIntervalSince1970: 1_750_000_000))
    }

    @Test func expiryIsOptionalAndEnforced() throws {
        // One that cannot be read refuses nothing, as with the time of issue: Apple does not send it again.
        for exp in [nil, "1749999940000", #""1749999940""#, "-1"] {
            #expect(try notification(Claims.notification { $0.exp = exp }).id == "jti-1")
        }
        #expect(try verify(body(Claims.notification { $0.exp = "1749999940" })) == .refused(.expired))
    }

    /// What waits here until somebody judges it ends meanwhile.
    @Test func whatHadNotEndedWhenItCameIsGood() throws {
        let old = try body(Claims.notification { ($0.iat, $0.exp) = ("1749700000", "1749786400") })
        #expect(try verify(old) == .refused(.expired))
        #expect(try verify(old, arrived: Claims.now - 213_500) == .refused(.expired))
        guard case .verified = try verify(old, arrived: Claims.now - 299_000) else {
            Issue.record("refused")
            return
        }
        // A clock that was set right since makes nothing one of the future; one without a time is of when it came.
        guard case .verified = try verify(old, arrived: Claims.now - 310_000) else {
            Issue.record("refused")
            return
        }
        let timeless = try body(Claims.notification(events: #"{"type":"x","sub":"s"}"#) { $0.iat = nil })
        guard case .verified(let read) = try verify(timeless, arrived: Claims.now - 299_000) else {
            Issue.record("refused")
            return
        }
        #expect(read.events.first?.occurredAt == Claims.now - 299_000)
    }

    @Test(
        arguments: [
            .init("audience", .audience) { $0.aud = #""com.example.stranger""# },
            .init("issuer", .issuer) { $0.iss = #""https://example.com""# },
            .init("future", .notYetIssued) { $0.iat = "1750000100" },
        ] as [Change]
    )
    func refusesClaims(change: Change) throws {
        #expect(try verify(body(Claims.notification(change.apply))) == .refused(change.problem))
    }

    /// Apple's signature is good: what is not understood is kept and said, and Apple is not asked to try for ever.
    @Test(arguments: [
        "5", "true", "null", "[]", #""""#, #""[]""#, #""5""#, #""{}""#, #""\"{}\"""#, "[[]]", "[5]", "{}",
        #"{"sub":"s"}"#, #"{"type":5,"sub":"s"}"#, #"{"type":"x","sub":"s","event_time":-1}"#,
        #"{"type":"","sub":"s"}"#, #"{"type":"x","sub":"s","event_time":"soon"}"#,
        #"{"type":"x","sub":"s","event_time":1e15}"#, #""{\"type\":\"x\",\"sub\":\"s\",\"sub\":\"t\"}""#,
    ])
    func keepsEventsOfAnotherForm(events: String) throws {
        let notification = try notification(Claims.notification(events: events))
        #expect(notification.events.map(\.type) == [.other("unreadable")])
        #expect(notification.events.map(\.sub) == [nil])
        #expect(notification.id == "jti-1")
    }

    /// Nothing but who it is for and when decides whether it is kept; deliveries of the same are known by the same
    /// name.
    @Test(arguments: [
        nil, "5", "null", #""""#, #"{"a":1}"#, #""a\u0000b""#, Claims.quoted(String(repeating: "j", count: 256)),
    ])
    func aNotificationWithoutAUsableNameIsNamedByItsHash(jti: String?) throws {
        func payload(_ iat: String) -> String {
            Claims.notification {
                $0.iat = iat
                $0.others[0] = jti.map { #""jti":\#($0)"# } ?? #""nothing":0"#
            }
        }
        let notification = try notification(payload("1750000000"))
        #expect(notification.id.hasPrefix("sha256:") && notification.id.utf8.count == 50)
        #expect(notification.events.map(\.type) == [.consentRevoked])
        #expect(try self.notification(payload("1750000000")).id == notification.id)
        #expect(try self.notification(payload("1750000001")).id != notification.id)
    }

    /// Same issuer, audience and keys: anybody who signs in has one.
    @Test func anIdentityTokenIsNoNotification() throws {
        #expect(try verify(body(Claims.identity())) == .refused(.missingClaim))
        #expect(try verify(body(Claims.notification { $0.others.remove(at: 1) })) == .refused(.missingClaim))
    }

    @Test func aNotificationWithoutTimeOfIssueIsKept() throws {
        for iat in [nil, #""yesterday""#] {
            let event = #"{"type":"consent-revoked","sub":"s"}"#
            let timeless = try notification(Claims.notification(events: event) { $0.iat = iat })
            #expect(timeless.events.map(\.type) == [.consentRevoked])
            #expect(timeless.events.map(\.occurredAt) == [Claims.now])
        }
    }

    /// What the database cannot hold must not make Apple deliver it for ever.
    @Test func textsThatNoRowCanHoldAreLeftOut() throws {
        let event = #"{"type":"x\u0000","sub":"a\u0000b","email":"\u0000@x.de"}"#
        let read = try #require(try notification(Claims.notification(events: event)).events.first)
        #expect(read.sub == nil && read.email == nil)
    }

    @Test func oneBadEntryTakesNoOtherAlong() throws {
        let events = try notification(Claims.notification(events: "[5,\(Claims.event),{}]")).events
        #expect(events.map(\.type) == [.other("unreadable"), .consentRevoked, .other("unreadable")])
        #expect(events.map(\.sub) == [nil, "001.a.2", nil])
    }

    @Test func anEventAboutNobodyOrOfALongTypeIsKept() throws {
        let long = String(repeating: "a", count: 200)
        for (events, type) in [
            (#"{"type":"x"}"#, "x"), (#"{"type":"x","sub":""}"#, "x"), (#"{"type":"\#(long)"}"#, long),
        ] {
            let event = try #require(try notification(Claims.notification(events: events)).events.first)
            #expect(event.type == .other(type))
            #expect(event.sub == nil)
        }
    }

    @Test func aListWithoutEndIsCutAndSaysSo() throws {
        let list = "[" + Array(repeating: Claims.event, count: 40).joined(separator: ",") + "]"
        let events = try notification(Claims.notification(events: list)).events
        #expect(events.count == 17)
        #expect(events.last?.type == .other("unreadable"))
    }

    @Test func deepSignedPayloadsAreNotFollowed() throws {
        let deep = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        #expect(try verify(body(Claims.notification(events: deep))) == .refused(.payload))
        let quoted = try notification(Claims.notification(events: Claims.quoted(deep)))
        #expect(quoted.events.map(\.type) == [.other("unreadable")])
    }

    @Test(arguments: [
        "", "{}", "[]", "null", #"{"payload":5}"#, #"{"payload":null}"#, #"{"payload":""}"#,
        #"{"payload":"a","payload":"b"}"#,
        #"{"payload":"a.b.c"}"#, #"{"payload":{"a":{"b":{}}}}"#, "payload=a.b.c", #"{"Payload":"a.b.c"}"#,
    ])
    func refusesBodiesOfAnotherForm(text: String) throws {
        #expect(try verify(text) == .refused(.malformed))
    }

    @Test func bodiesAreBounded() throws {
        let padding = String(repeating: " ", count: AppleNotification.longestBody)
        #expect(try verify(body(Claims.notification()) + padding) == .refused(.tooLarge))
        let token = String(repeating: "a", count: SignedToken.longest + 1)
        #expect(try verify(#"{"payload":"\#(token)"}"#) == .refused(.tooLarge))
    }

    @Test func everyTruncationIsRefused() throws {
        let body = try body(Claims.notification())
        for count in stride(from: 0, to: body.utf8.count, by: 11) {
            guard case .refused = try verify(String(body.prefix(count))) else {
                Issue.record("\(count) bytes were enough")
                return
            }
        }
    }

    @Test func anUnknownKeyIsReportedAndNothingElse() throws {
        #expect(try verify(body(Claims.notification()), keys: Signer.keySet(.second)) == .unknownKey("first-key"))
    }
}
