import Foundation
import Sandbox
import TestSupport
import Testing

/// Rows and bytes of uploads, and whose they are.
@Suite struct StorageUploadTests {
    @Test func anUploadBelongsToWhoSendsIt() async throws {
        try await StorageClient.with { client async throws in
            let own = try await client.upload("Mine.jpeg", as: client.signedIn())
            #expect(own.status == 200)
            #expect(own["Key"] == "avatars/Mine.jpeg")
            #expect(try await client.upload("theirs.jpeg").status == 200)
            let owners = try await client.database.psql(
                "select name, owner, owner_id, metadata ->> 'mimetype' from storage.objects order by name"
            )
            let id = client.user.uuidString.lowercased()
            #expect(owners == "Mine.jpeg|\(id)|\(id)|image/jpeg\ntheirs.jpeg|||image/jpeg")
            #expect(client.sandbox.storage.files(bucket: "avatars").count == 2)

            let read = try await client.object(.get, "authenticated/avatars/Mine.jpeg", as: client.signedIn())
            #expect(read.text == "bytes of Mine.jpeg")
            #expect(read.header("Content-Type") == "image/jpeg")
            // Keys are case-sensitive, and what policies hide is not found.
            #expect(try await client.object(.get, "avatars/mine.jpeg")["code"] == "NoSuchKey")
            let hidden = try await client.object(.get, "avatars/theirs.jpeg", as: client.signedIn())
            #expect(hidden.status == 400 && hidden["statusCode"] == "404")
        }
    }

    @Test func ofARangeAsMuchIsPromisedAsIsAskedFor() async throws {
        try await StorageClient.with { client async throws in
            #expect(try await client.upload("a.jpeg").status == 200)
            func read(_ range: String) async throws -> Answer {
                try await client.object(.get, "avatars/a.jpeg", as: client.service.merging(["Range": range]) { $1 })
            }
            let part = try await read("bytes=0-4")
            #expect(part.status == 206 && part.text == "bytes" && part.header("Content-Range") == "bytes 0-4/15")
            for range in ["bytes=0-15", "bytes=15-15"] {
                await #expect(throws: (any Error).self, "\(range)") { try await read(range) }
            }
            #expect(try await read("bytes=0-\(Int.max)").status == 200)
        }
    }

    @Test func aNameIsTakenUntilItIsReplaced() async throws {
        try await StorageClient.with { client async throws in
            let user = try client.signedIn()
            #expect(try await client.upload("a.jpeg", as: user).status == 200)
            let twice = try await client.upload("a.jpeg", as: user)
            #expect(twice.status == 400 && twice["statusCode"] == "409" && twice["error"] == "Duplicate")
            #expect(try await client.upload("a.jpeg", as: user, more: ["x-upsert": "true"]).status == 200)
            #expect(try await client.upload("a.jpeg", as: user, verb: .put).status == 200)
            #expect(try await client.upload("b.jpeg", as: user, verb: .put)["code"] == "NoSuchKey")
            #expect(client.sandbox.storage.files(bucket: "avatars").count == 1)
        }
    }

    @Test func refusals() async throws {
        try await StorageClient.with { client async throws in
            #expect(try await client.upload("a.jpeg", bucket: "nothing")["code"] == "NoSuchBucket")
            let denied = try await client.upload("a.jpeg", bucket: "shared", as: client.signedIn())
            #expect(denied.status == 400)
            #expect(denied["statusCode"] == "403" && denied["error"] == "Unauthorized")
            #expect(denied["message"]?.contains("row-level security") == true)
            #expect(try await client.upload("ä.jpeg")["code"] == "InvalidKey")
            try await client.database.psql(
                "update storage.buckets set file_size_limit = 3, allowed_mime_types = '{image/*}' where id = 'shared'"
            )
            #expect(try await client.upload("a.jpeg", bucket: "shared")["statusCode"] == "413")
            try await client.database.psql("update storage.buckets set file_size_limit = null where id = 'shared'")
            #expect(try await client.upload("a.jpeg", bucket: "shared").status == 200)
            let text = try await client.upload("a.txt", bucket: "shared", more: ["Content-Type": "text/plain"])
            #expect(text["error"] == "invalid_mime_type")
            #expect(client.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    @Test func aMultipartFormAsSupabaseSwiftSendsIt() async throws {
        try await StorageClient.with { client async throws in
            let body = [
                "--X", #"Content-Disposition: form-data; name="cacheControl""#, "", "600", "--X",
                #"Content-Disposition: form-data; name=""; filename="photo.jpeg""#, "Content-Type: image/jpeg", "",
                "line one\r\nline two", "--X--", "",
            ].joined(separator: "\r\n")
            let answer = try await Answer.to(
                .post,
                "\(client.sandbox.storage.url)/object/avatars/dir/photo.jpeg",
                headers: client.signedIn().merging(["Content-Type": "multipart/form-data; boundary=X"]) { a, _ in a },
                body: Array(body.utf8)
            )
            #expect(answer.status == 200)
            let read = try await client.object(.get, "avatars/dir/photo.jpeg")
            #expect(read.text == "line one\r\nline two")
            #expect(
                try await client.database.psql("select metadata ->> 'cacheControl' from storage.objects")
                    == "max-age=600"
            )
        }
    }

    @Test func policiesLearnTheOperation() async throws {
        try await StorageClient.with { client async throws in
            try await client.database.psql(
                """
                drop policy own on storage.objects;
                create policy download on storage.objects for select to authenticated
                    using (storage.allow_any_operation(array['object.get_authenticated']));
                create policy remove on storage.objects for delete to authenticated using (true);
                """
            )
            #expect(try await client.upload("a.jpeg").status == 200)
            let user = try client.signedIn()
            #expect(try await client.object(.get, "avatars/a.jpeg", as: user).status == 200)
            #expect(try await client.list(#"{"prefix":""}"#, as: user).array.isEmpty)
            // The published example's trap: what may only be downloaded cannot be deleted, and the answer is 200.
            let answer = try await client.deleteMany(["a.jpeg"], as: user)
            #expect(answer.status == 200 && answer.text == "[]")
            #expect(try await client.rows() == ["a.jpeg"])
        }
    }
}
