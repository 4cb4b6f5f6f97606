import Foundation
import HTTPCalls
import Logging
import ObjectStorage
import Sandbox
import Sealing
import TestSupport
import Testing

/// The client works with the simulated Supabase Storage, over a real `storage.objects` table and real files.
@Suite(.timeLimit(.minutes(5))) struct SandboxAgreementTests {
    private func with<Result: Sendable>(
        _ body: @Sendable (Sandbox, StorageClient, HTTPCaller) async throws -> Result
    ) async throws -> Result {
        let logger = Logger.silent
        return try await TestDatabase.with(.platform) { database in
            let folder = NSTemporaryDirectory() + "/storage-\(UUID().uuidString)"
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try await database.psql(
                "insert into storage.buckets (id, name, public) values ('avatars', 'avatars', true), ('b 2', 'b 2', false)"
            )
            var configuration = SandboxConfiguration()
            configuration.storage = .init(conninfo: database.adminConninfo, folder: folder)
            return try await Sandbox.with(configuration, logger: logger) { sandbox in
                try await HTTPCaller.withCaller(logger: logger) { caller in
                    let client = StorageClient(
                        address: try ServiceAddress(sandbox.storage.url),
                        key: try StorageKey(Secret(sandbox.storage.keys.secretKey)),
                        caller: caller,
                        deadline: .seconds(10)
                    )
                    return try await body(sandbox, client, caller)
                }
            }
        }
    }

    private func upload(
        _ key: String,
        _ text: String = "x",
        to bucket: String,
        _ sandbox: Sandbox,
        _ caller: HTTPCaller
    ) async throws {
        let name = try #require(PercentEncoding.path(key))
        let path = "/object/\(PercentEncoding.component(bucket))/\(name)"
        let outcome = try await caller.perform(
            HTTPCall(
                label: "test.upload",
                method: .post,
                address: ServiceAddress(sandbox.storage.url),
                path: path,
                headers: [.init("apikey", sandbox.storage.keys.secretKey), .init("Content-Type", "text/plain")],
                body: Secret(Array(text.utf8)),
                repetition: .always
            )
        )
        guard case .reply(let reply) = outcome, reply.status == 200 else {
            Issue.record("\(key) was not uploaded: \(outcome)")
            return
        }
    }

    @Test func listsAndDeletesWhatIsThere() async throws {
        try await with { sandbox, client, caller in
            let keys = ["u/a.png", "u/deep/b (c)+.png", "U/a.png", "root.png"]
            for key in keys { try await upload(key, to: "avatars", sandbox, caller) }

            var found: [String] = []
            var cursor: StorageListing.Cursor?
            repeat {
                let outcome = try await client.list(bucket: "avatars", folder: "u", from: cursor, limit: 1)
                guard case .done(let page) = outcome else {
                    Issue.record("not listed: \(outcome)")
                    return
                }
                found += page.keys
                cursor = page.next
            } while cursor != nil
            // Keys are case-sensitive: the folder in capitals belongs to another user.
            #expect(found.sorted() == ["u/a.png", "u/deep/b (c)+.png"])

            let targets = found.map { StorageTarget($0) } + ["u/missing"]
            guard case .done(let deletion) = try await client.delete(targets, in: "avatars") else {
                Issue.record("not deleted")
                return
            }
            #expect(deletion.unrequested == [])
            guard case .done = try await client.read(ObjectAddress(bucket: "avatars", key: "U/a.png")),
                case .gone = try await client.read(ObjectAddress(bucket: "avatars", key: "u/a.png"))
            else {
                Issue.record("not what the listing said")
                return
            }
        }
    }

    /// An object is read to its real length, although the server announces as many bytes as the request asks for.
    @Test(arguments: ["", "0", "0123", "0123456789"])
    func readsWhatIsThere(_ text: String) async throws {
        try await with { sandbox, client, caller in
            try await upload("a", text, to: "avatars", sandbox, caller)
            for limit in [4, 1 << 20] {
                var read: [UInt8] = []
                var cursor: StoragePart.Cursor?
                repeat {
                    let object = try ObjectAddress(bucket: "avatars", key: "a")
                    let outcome = try await client.read(object, from: cursor, limit: limit)
                    guard case .done(let part) = outcome else {
                        Issue.record("not read: \(outcome)")
                        return
                    }
                    read += part.bytes
                    cursor = part.next
                } while cursor != nil
                #expect(String(decoding: read, as: UTF8.self) == text)
            }
        }
    }

    @Test func whatDoesNotExistIsToldApart() async throws {
        try await with { _, client, _ in
            guard case .done = try await client.delete(["a"], in: "no-such-bucket") else {
                Issue.record("delete-many says 200 for a bucket that does not exist")
                return
            }
            guard case .done(let buckets) = try await client.buckets() else {
                Issue.record("buckets not listed")
                return
            }
            #expect(buckets.map(\.id).sorted() == ["avatars", "b 2"])
        }
    }

    @Test func aBusyServiceIsTriedAgainLater() async throws {
        try await with { sandbox, client, _ in
            _ = sandbox.faults.set(.storageBusy, for: .storageDeleteMany)
            guard case .later = try await client.delete(["a"], in: "avatars") else {
                Issue.record("busy was taken for something else")
                return
            }
        }
    }

    @Test func aWrongKeyIsOurFault() async throws {
        try await with { sandbox, _, caller in
            let client = StorageClient(
                address: try ServiceAddress(sandbox.storage.url),
                key: try StorageKey(Secret("sb_secret_wrong")),
                caller: caller,
                deadline: .seconds(5)
            )
            guard case .misconfigured = try await client.buckets() else {
                Issue.record("a wrong key was not told")
                return
            }
        }
    }
}
