import Foundation
import Sandbox
import TestSupport
import Testing

/// The two kinds of list.
@Suite struct StorageListTests {
    private func filled(_ client: StorageClient) async throws {
        for key in ["root.jpeg", "B/one.jpeg", "b/two.jpeg", "b/deep/three.jpeg", "b_c/four.jpeg"] {
            #expect(try await client.upload(key).status == 200, "\(key)")
        }
    }

    @Test func theFirstKindShowsOneLevelWithFoldersAsEntriesWithoutID() async throws {
        try await StorageClient.with { client async throws in
            try await filled(client)
            let root = try await client.list(#"{"prefix":""}"#).array
            #expect(root.map { $0["name"] as? String } == ["B", "b", "b_c", "root.jpeg"])
            #expect(root.map { $0["id"] is NSNull } == [true, true, true, false])
            #expect(root.allSatisfy { $0.keys.contains("metadata") })
            // The prefix is matched in any case, though keys are not: both folders answer for either.
            let folder = try await client.list(#"{"prefix":"B"}"#).array
            #expect(folder.map { $0["name"] as? String } == ["deep", "one.jpeg", "two.jpeg"])
            // An underscore is no wildcard.
            #expect(try await client.list(#"{"prefix":"b_"}"#).array.isEmpty)
            let sought = try await client.list(#"{"prefix":"","search":"ro"}"#).array
            #expect(sought.map { $0["name"] as? String } == ["root.jpeg"])
            let down = try await client.list(#"{"prefix":"b/","sortBy":{"column":"name","order":"desc"}}"#).array
            #expect(down.map { $0["name"] as? String } == ["deep", "two.jpeg", "one.jpeg"])
            #expect(try await client.list(#"{"prefix":"nothing"}"#).text == "[]")
            #expect(try await client.list(#"{"prefix":""}"#, bucket: "nothing").text == "[]")
        }
    }

    @Test func theFirstKindStopsAtAHundredUnlessAsked() async throws {
        try await StorageClient.with { client async throws in
            try await client.database.psql(
                """
                insert into storage.objects (bucket_id, name)
                select 'avatars', to_char(n, 'FM0000') from generate_series(1, 1600) as n
                """
            )
            #expect(try await client.list(#"{"prefix":""}"#).array.count == 100)
            #expect(try await client.list(#"{"prefix":"","limit":5000}"#).array.count == 1500)
            let rest = try await client.list(#"{"prefix":"","limit":1500,"offset":1500}"#).array
            #expect(rest.count == 100)
            #expect(rest.first?["name"] as? String == "1501")
            #expect(try await client.list(#"{"prefix":"","limit":0}"#)["code"] == "InvalidRequest")
            #expect(try await client.list(#"{}"#)["code"] == "InvalidRequest")
        }
    }

    @Test func theSecondKindIsRecursiveAndGoesOnByCursor() async throws {
        try await StorageClient.with { client async throws in
            try await filled(client)
            var keys: [String] = []
            var cursor: String?
            var pages = 0
            repeat {
                let more = cursor.map { #","cursor":"\#($0)""# } ?? ""
                let page = try await client.listPage(#"{"limit":2\#(more)}"#)
                #expect(page.status == 200)
                let objects = page.object["objects"] as? [[String: Any]] ?? []
                keys += objects.compactMap { $0["name"] as? String }
                #expect((page.object["folders"] as? [Any])?.isEmpty == true)
                cursor = page["nextCursor"]
                #expect(page.object["hasNext"] as? Bool == (cursor != nil))
                pages += 1
            } while cursor != nil
            #expect(pages == 3)
            #expect(keys == ["B/one.jpeg", "b/deep/three.jpeg", "b/two.jpeg", "b_c/four.jpeg", "root.jpeg"])
            let prefixed = try await client.listPage(#"{"prefix":"b/"}"#).object["objects"] as? [[String: Any]]
            #expect(prefixed?.map { $0["name"] as? String } == ["b/deep/three.jpeg", "b/two.jpeg"])
            #expect(try await client.listPage(#"{"cursor":"nonsense"}"#)["code"] == "InvalidParameter")
        }
    }

    @Test func theSecondKindWithADelimiterShowsFolders() async throws {
        try await StorageClient.with { client async throws in
            try await filled(client)
            let page = try await client.listPage(#"{"prefix":"b/","with_delimiter":true}"#)
            let folders = page.object["folders"] as? [[String: Any]] ?? []
            let objects = page.object["objects"] as? [[String: Any]] ?? []
            #expect(folders.map { $0["name"] as? String } == ["b/deep/"])
            #expect(objects.map { $0["name"] as? String } == ["b/two.jpeg"])
        }
    }

    @Test func buckets() async throws {
        try await StorageClient.with { client async throws in
            let url = client.sandbox.storage.url
            let all = try await Answer.to(.get, url + "/bucket", headers: client.service).array
            #expect(all.map { $0["id"] as? String } == ["avatars", "shared"])
            let one = try await Answer.to(.get, url + "/bucket/shared", headers: client.service)
            #expect(one.object["public"] as? Bool == true)
            #expect(
                try await Answer.to(.get, url + "/bucket/nothing", headers: client.service)["code"] == "NoSuchBucket"
            )
        }
    }
}
