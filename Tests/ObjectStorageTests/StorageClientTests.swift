import Foundation
import HTTPCalls
import Logging
import ObjectStorage
import Sealing
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct StorageClientTests {
    private static func json(_ text: String) -> LyingServer.Act { LyingServer.reply("200 OK", text) }

    private static let noRoute = LyingServer.reply(
        "404 Not Found",
        #"{"message":"Route POST:/object/list-v2/avatars not found","error":"Not Found","statusCode":404}"#
    )

    /// Lists all pages and returns their keys.
    private func all(_ client: StorageClient, folder: String, limit: Int = 2) async throws -> [String] {
        var keys: [String] = []
        var cursor: StorageListing.Cursor?
        for _ in 0..<50 {
            guard
                case .done(let page) = try await client.list(
                    bucket: "avatars",
                    folder: folder,
                    from: cursor,
                    limit: limit
                )
            else {
                Issue.record("not listed")
                return keys
            }
            keys += page.keys
            cursor = page.next
            if cursor == nil { return keys }
        }
        Issue.record("the listing has no end")
        return keys
    }

    @Test func theNewerListingIsReadPageByPage() async throws {
        try await StorageClient.with({ number, _ in
            number == 1
                ? Self.json(
                    #"{"hasNext":true,"nextCursor":"m","folders":[],"objects":[{"name":"u/a","id":"1"},{"name":"u/b/c","id":"2"}]}"#
                )
                : Self.json(#"{"hasNext":false,"folders":[],"objects":[{"name":"u/d","id":"3"}]}"#)
        }) { client, server in
            let keys = try await all(client, folder: "u")
            #expect(keys == ["u/a", "u/b/c", "u/d"])
            #expect(server.received.map(\.path) == Array(repeating: "/storage/v1/object/list-v2/avatars", count: 2))
            #expect(
                server.received[0].body.contains(#""prefix":"u\/""#)
                    || server.received[0].body.contains(#""prefix":"u/""#)
            )
            #expect(server.received[1].body.contains(#""cursor":"m""#))
            #expect(server.received[0].header("apikey") == "sb_secret_test")
            #expect(server.received[0].header("Authorization") == nil)
        }
    }

    /// Between two attempts a key may come to belong to another account, so a caller must list again before it repeats.
    @Test func aDeleteThatStorageMayHaveSeenIsNotSentAgain() async throws {
        try await StorageClient.with({ _, _ in LyingServer.reply("504 Gateway Timeout", "{}") }) { client, server in
            guard case .later = try await client.delete(["a"], in: "avatars") else {
                Issue.record("believed")
                return
            }
            #expect(server.received.count == 1)
            _ = try await client.buckets()
            #expect(server.received.count == 3)
        }
    }

    @Test func aPageThatPromisesMoreAndDoesNotSayWhereIsNotBelieved() async throws {
        try await StorageClient.with({ _, _ in Self.json(#"{"hasNext":true,"folders":[],"objects":[]}"#) }) {
            client,
            _ in
            let outcome = try await client.list(bucket: "avatars", folder: "")
            #expect(outcome == .later(StorageDelay(.notUnderstood(status: 200))))
        }
    }

    /// As of a cache in front of Storage, or of a backend that does not read the cursor.
    @Test func aPageThatIsItsOwnNextOneIsNotBelieved() async throws {
        let page = #"{"hasNext":true,"nextCursor":"m","folders":[],"objects":[{"name":"u/a","id":"1"}]}"#
        try await StorageClient.with({ _, _ in Self.json(page) }) { client, _ in
            guard case .done(let first) = try await client.list(bucket: "avatars", folder: "u") else {
                Issue.record("not listed")
                return
            }
            let outcome = try await client.list(bucket: "avatars", folder: "u", from: first.next)
            #expect(outcome == .later(StorageDelay(.notUnderstood(status: 200))))
        }
    }

    /// The older listing serves a tree one level at a time: names are relative, and folders have no id.
    @Test func theOlderListingIsWalked() async throws {
        let tree: [String: [(String, Bool)]] = [
            "u/": [("a", false), ("b", false), ("deep", true), ("e", false), ("Other", true)],
            "u/deep/": [("x", false), ("deeper", true)],
            "u/deep/deeper/": [("y", false)],
            "u/Other/": [],
        ]
        struct Request: Decodable {
            let prefix: String
            let limit: Int
            let offset: Int
        }
        try await StorageClient.with({ _, request in
            guard request.path.hasSuffix("/object/list/avatars") else { return Self.noRoute }
            guard let asked = try? JSONDecoder().decode(Request.self, from: Data(request.body.utf8)) else {
                return LyingServer.reply("500 Oops")
            }
            let entries = (tree[asked.prefix] ?? []).dropFirst(asked.offset).prefix(asked.limit).map { name, isFolder in
                #"{"name":"\#(name)","id":\#(isFolder ? "null" : #""1""#)}"#
            }
            return Self.json("[\(entries.joined(separator: ","))]")
        }) { client, _ in
            let keys = try await all(client, folder: "u")
            #expect(Set(keys) == ["u/a", "u/b", "u/e", "u/deep/x", "u/deep/deeper/y"])
            #expect(keys.count == 5)
        }
    }

    @Test func aMissingBucketIsNotAnOlderServer() async throws {
        let body = #"{"statusCode":"404","error":"Bucket not found","message":"x","code":"NoSuchBucket"}"#
        try await StorageClient.with({ _, _ in LyingServer.reply("400 Bad Request", body) }) { client, server in
            guard case .gone(let refusal) = try await client.list(bucket: "nope", folder: "") else {
                Issue.record("not gone")
                return
            }
            #expect(refusal.code == "NoSuchBucket")
            #expect(server.received.count == 1)
        }
    }

    @Test func deletingManySendsExactKeysAndComparesTheAnswer() async throws {
        try await StorageClient.with({ _, _ in
            Self.json(#"[{"name":"U/ä b.png","id":"1"},{"name":"stranger","id":"2"}]"#)
        }) {
            client,
            server in
            let outcome = try await client.delete(["U/ä b.png", "u/missing"], in: "avatars")
            guard case .done(let deletion) = outcome else {
                Issue.record("not done")
                return
            }
            #expect(deletion.unrequested == ["stranger"])
            let request = try #require(server.received.first)
            #expect(request.method == "DELETE")
            #expect(request.path == "/storage/v1/object/avatars")
            struct Body: Decodable { let prefixes: [String] }
            let body = try JSONDecoder().decode(Body.self, from: Data(request.body.utf8))
            #expect(body.prefixes == ["U/ä b.png", "u/missing"])
        }
    }

    /// A key without a version is sent as plain text, which older servers accept too; only a version needs an object.
    @Test func aVersionIsNamedBesideItsKey() async throws {
        try await StorageClient.with({ _, _ in Self.json(#"[{"name":"a"},{"name":"b"}]"#) }) { client, server in
            _ = try await client.delete([StorageTarget("a", version: "v1"), "b"], in: "avatars")
            let body = try #require(server.received.first?.body)
            #expect(body.contains(#""path":"a""#) && body.contains(#""versionId":"v1""#), "\(body)")
            #expect(body.hasSuffix(#"},"b"]}"#), "\(body)")
        }
    }

    /// Uploaders may write large metadata into a row, and one answer contains 500 rows.
    @Test func aVeryLongAnswerSaysThatAllIsDone() async throws {
        let row = #"{"name":"a","user_metadata":{"note":"\#(String(repeating: "x", count: 2 << 20))"}}"#
        try await StorageClient.with({ _, _ in Self.json("[\(row)]") }) { client, server in
            guard case .done = try await client.delete(["a"], in: "avatars") else {
                Issue.record("not done")
                return
            }
            #expect(server.received.count == 1)
        }
    }

    @Test func keysAreEscaped() async throws {
        try await StorageClient.with({ _, _ in Self.json("{}") }) { client, server in
            _ = try await client.read(ObjectAddress(bucket: "my bucket", key: "u/ä b?#%+/..x/x.png"))
            #expect(
                server.received.first?.path
                    == "/storage/v1/object/authenticated/my%20bucket/u/%C3%A4%20b%3F%23%25%2B/..x/x.png"
            )
        }
    }

    /// Users choose their keys, and a gateway would turn each of these into another object's path.
    @Test(arguments: [
        ("b", ""), ("b", "/u/x"), ("b", "u/x/"), ("b", "u//x"), ("b", "./u/x"), ("b", "u/../v/x"), ("b", "u/x/.."),
        ("b", "../c/x"), ("", "x"), (".", "x"), ("..", "x"),
    ])
    func keysThatGatewaysResolveHaveNoAddress(bucket: String, key: String) {
        #expect(throws: ObjectAddress.Unaddressable.self) { try ObjectAddress(bucket: bucket, key: key) }
    }

    @Test func everyCallMayBeRepeated() async throws {
        try await StorageClient.with({ number, _ in
            number == 1
                ? .sendAndClose("")
                : Self.json(
                    #"[{"id":"avatars","name":"avatars","public":true,"owner":""},{"id":"a","name":"a","public":null}]"#
                )
        }) { client, server in
            guard case .done(let buckets) = try await client.buckets() else {
                Issue.record("not done")
                return
            }
            // A bucket that was created by SQL may have null for `public`.
            #expect(buckets.map(\.id) == ["avatars", "a"])
            #expect(server.received.count == 2)
        }
    }

    @Test func anotherSitesPageIsNoVerdict() async throws {
        try await StorageClient.with({ _, _ in LyingServer.reply("200 OK", "<html>hello</html>") }) { client, _ in
            let outcome = try await client.delete(["a"], in: "b")
            #expect(outcome == .later(StorageDelay(.notUnderstood(status: 200))))
        }
    }
}
