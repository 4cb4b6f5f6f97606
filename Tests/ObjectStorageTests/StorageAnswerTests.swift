import Foundation
import HTTPCalls
import Sealing
import Testing

@testable import ObjectStorage

@Suite struct StorageAnswerTests {
    private func answer(_ status: Int, _ body: String) -> StorageAnswer {
        StorageAnswer(.reply(HTTPReply(status: status, body: Array(body.utf8))))
    }

    private func kind(_ answer: StorageAnswer) -> String {
        Mirror(reflecting: answer).children.first?.label ?? "\(answer)"
    }

    /// A gateway's page proves only that the service behind it is unavailable.
    @Test(arguments: [
        (503, "storage failed (HTTP 503)"), (200, "storage's answer is not understood (HTTP 200)"),
    ])
    func noJSON(_ status: Int, _ words: String) {
        #expect(StorageDelay(.notUnderstood(status: status)).description == words)
    }

    /// A call that failed within the service, or on its way back, may have been too large; one that was turned away, or
    /// told when to come back, was not.
    @Test(
        arguments: [
            (.timedOut, nil, true), (.interrupted, nil, true), (.notUnderstood(status: 502), nil, true),
            (.refused(StorageRefusal(code: "DatabaseTimeout", status: 544)), nil, true),
            (.refused(StorageRefusal(code: "DatabaseTimeout", status: 544)), .seconds(900), false),
            (.refused(StorageRefusal(code: "SlowDown", status: 429)), nil, false),
            (.notUnderstood(status: 503), nil, false), (.notUnderstood(status: 200), nil, false),
            (.replaced, nil, false),
        ] as [(StorageDelay.Cause, Duration?, Bool)]
    )
    func whatMayBeOfItsSize(_ cause: StorageDelay.Cause, _ retryAfter: Duration?, _ expected: Bool) {
        var deletion = JudgedDeletion()
        deletion.outcome = .later(StorageDelay(cause, retryAfter: retryAfter))
        #expect(deletion.mayHaveBeenTooLarge == expected)
    }

    /// The HTTP status is 400 for nearly every error; the body holds the true status.
    @Test(arguments: [
        (400, #"{"statusCode":"404","error":"not_found","message":"Object not found","code":"NoSuchKey"}"#, "gone"),
        (400, #"{"statusCode":"404","error":"Bucket not found","message":"x","code":"NoSuchBucket"}"#, "gone"),
        (400, #"{"statusCode":"404","error":"not_found","message":"Object not found"}"#, "gone"),
        (400, #"{"statusCode":"403","error":"Unauthorized","message":"x","code":"AccessDenied"}"#, "misconfigured"),
        (403, #"{"statusCode":"403","error":"Unauthorized","message":"x"}"#, "misconfigured"),
        (
            400, #"{"statusCode":"400","error":"InvalidJWT","message":"jwt expired","code":"InvalidJWT"}"#,
            "misconfigured"
        ),
        (400, #"{"statusCode":"503","error":"x","message":"x","code":"SlowDown"}"#, "delayed"),
        (400, #"{"statusCode":"423","error":"x","message":"x","code":"ResourceLocked"}"#, "delayed"),
        (400, #"{"statusCode":"503","error":"x","message":"x"}"#, "delayed"),
        (429, #"{"statusCode":"429","error":"too_many_connections","message":"x"}"#, "delayed"),
        (544, #"{"statusCode":"544","error":"x","message":"x","code":"DatabaseTimeout"}"#, "delayed"),
        (500, #"{"statusCode":"500","error":"Internal","message":"x","code":"InternalError"}"#, "delayed"),
        (400, #"{"statusCode":"400","error":"x","message":"x","code":"DatabaseReadOnly"}"#, "delayed"),
        // The error code takes precedence over a status that contradicts it.
        (404, #"{"statusCode":"404","error":"x","message":"x","code":"AccessDenied"}"#, "misconfigured"),
        (
            404, #"{"message":"Route POST:/object/list-v2/a not found","error":"Not Found","statusCode":404}"#,
            "unknownRoute"
        ),
        // Answers of a gateway in front of the service.
        (404, "<html>not found</html>", "delayed"), (400, "", "delayed"), (502, "Bad gateway", "delayed"),
        (401, #"{"message":"Invalid API key"}"#, "misconfigured"), (301, "", "delayed"),
        (200, "<html>", "success"),
    ])
    func classification(status: Int, body: String, expected: String) {
        #expect(kind(answer(status, body)) == expected)
    }

    @Test func messagesAreNotRepeated() {
        let body = #"{"statusCode":"404","error":"not_found","message":"anna/secret.png not found","code":"NoSuchKey"}"#
        guard case .gone(let refusal) = answer(400, body) else {
            Issue.record("not gone")
            return
        }
        #expect(!"\(refusal)".contains("anna"))
    }

    @Test func deletionsCompareWithTheRequest() {
        let deletion = StorageDeletion(requested: ["a", "b", "C"], named: ["b", "c", "z"])
        #expect(deletion.unrequested == ["c", "z"])
    }
}

@Suite struct StorageKeyTests {
    private func jwt(role: String) -> String {
        let encode = { (text: String) in Base64.encode(Array(text.utf8), alphabet: .urlSafe) }
        return encode(#"{"alg":"HS256","typ":"JWT"}"#) + "." + encode(#"{"role":"\#(role)","iss":"supabase"}"#)
            + ".c2ln"
    }

    private func fields(_ key: StorageKey) -> [String: String] {
        Dictionary(uniqueKeysWithValues: key.headers.map { ($0.name, $0.value.reveal()) })
    }

    @Test func secretKeysAreNeverBearers() throws {
        let key = try StorageKey(Secret(" sb_secret_abc\n"))
        #expect(fields(key) == ["apikey": "sb_secret_abc"])
    }

    @Test func legacyKeysAreBoth() throws {
        let text = jwt(role: "service_role")
        #expect(fields(try StorageKey(Secret(text))) == ["apikey": text, "Authorization": "Bearer \(text)"])
    }

    @Test func mistakesAreNamed() {
        #expect(throws: StorageKey.Problem.empty) { try StorageKey(Secret(" ")) }
        #expect(throws: StorageKey.Problem.publishable) { try StorageKey(Secret("sb_publishable_x")) }
        #expect(throws: StorageKey.Problem.notServiceRole) { try StorageKey(Secret(self.jwt(role: "anon"))) }
        #expect(throws: StorageKey.Problem.notAKey) { try StorageKey(Secret("hunter2")) }
        #expect(throws: StorageKey.Problem.notAKey) { try StorageKey(Secret("a.b.c")) }
    }
}
