import Foundation
import Sandbox
import TestSupport
import Testing

/// Deletes that did less than their answer lets one think.
@Suite struct StorageDeleteTests {
    @Test func rowsAndBytesGoTogether() async throws {
        try await StorageClient.with { client async throws in
            for key in ["a.jpeg", "dir/b.jpeg", "dir/c.jpeg"] { _ = try await client.upload(key) }
            let answer = try await client.deleteMany(["a.jpeg", "dir/b.jpeg", "missing"])
            #expect(answer.status == 200)
            #expect(Set(answer.array.compactMap { $0["name"] as? String }) == ["a.jpeg", "dir/b.jpeg"])
            #expect(try await client.rows() == ["dir/c.jpeg"])
            let files = client.sandbox.storage.files(bucket: "avatars")
            #expect(files.count == 1 && files[0].hasPrefix("dir/c.jpeg/"))
            let one = try await client.object(.delete, "avatars/dir/c.jpeg")
            #expect(one.status == 200 && one["message"] == "Successfully deleted")
            #expect(client.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    @Test func manyAnswersTwoHundredAndAnEmptyListForWhatIsNotThere() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("A.jpeg")
            let user = try client.signedIn()
            for answer in [
                try await client.deleteMany(["missing"]),
                // Keys are case-sensitive,
                try await client.deleteMany(["a.jpeg"]),
                // exact, whatever the name of the field says,
                try await client.deleteMany(["A"]),
                // and those of others are hidden.
                try await client.deleteMany(["A.jpeg"], as: user),
                try await client.deleteMany(["A.jpeg"], bucket: "nothing"),
            ] {
                #expect(answer.status == 200 && answer.text == "[]")
            }
            #expect(try await client.rows() == ["A.jpeg"])
            let none = try await client.deleteMany([])
            #expect(none.status == 400 && none["code"] == "InvalidRequest")
        }
    }

    @Test func oneIsAnErrorInTheBodyWhenItIsNotThere() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("a.jpeg")
            let user = try client.signedIn()
            for answer in [
                try await client.object(.delete, "avatars/missing"), try await client.object(.delete, "nothing/a.jpeg"),
                try await client.object(.delete, "avatars/a.jpeg", as: user),
            ] {
                #expect(answer.status == 400)
                #expect(
                    answer.object as? [String: String] == [
                        "statusCode": "404", "error": "not_found", "message": "Object not found", "code": "NoSuchKey",
                    ]
                )
            }
            let nobody = try await client.object(.delete, "avatars/a.jpeg", as: [:])
            #expect(nobody.status == 400)
            #expect(try await client.rows() == ["a.jpeg"])
        }
    }

    @Test func bytesThatCannotBeRemovedBringTheirBatchBack() async throws {
        try await StorageClient.with { client async throws in
            for key in ["a.jpeg", "b.jpeg"] { _ = try await client.upload(key) }
            let control = client.sandbox.baseURL + "/control/storage/files"
            #expect(try await Answer.json(.post, control, #"{"broken":true}"#).status == 204)
            let answer = try await client.deleteMany(["a.jpeg", "b.jpeg"])
            #expect(answer.status == 500 && answer["code"] == "InternalError")
            #expect(try await client.rows() == ["a.jpeg", "b.jpeg"])
            client.sandbox.storage.breakFiles(false)
            #expect(try await client.deleteMany(["a.jpeg", "b.jpeg"]).array.count == 2)
            #expect(client.sandbox.storage.files(bucket: "avatars").isEmpty)
        }
    }

    @Test func moreThanOneBatchMayEndHalfDone() async throws {
        try await StorageClient.with { client async throws in
            try await client.database.psql(
                """
                insert into storage.objects (bucket_id, name)
                select 'avatars', to_char(n, 'FM0000') from generate_series(1, 600) as n;
                """
            )
            // Only the last key of the second batch has bytes, and they cannot be removed.
            _ = try await client.upload("9999")
            client.sandbox.storage.breakFiles()
            let keys = (1...600).map { String(repeating: "0", count: 4 - "\($0)".count) + "\($0)" } + ["9999"]
            #expect(try await client.deleteMany(keys).status == 500)
            #expect(try await client.rows().count == 101)
        }
    }

    @Test func hardLimitsRefuseLongCallsWhereTheyAreOn() async throws {
        try await StorageClient.with(deleteLimit: 2) { client async throws in
            #expect(try await client.deleteMany(["a", "b"]).status == 200)
            let answer = try await client.deleteMany(["a", "b", "c"])
            #expect(answer.status == 400 && answer["code"] == "InvalidRequest")
        }
    }

    @Test func aLyingServiceSaysItDeleted() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("a.jpeg")
            client.sandbox.faults.set(.pretendedSuccess.times(2), for: .storageDeleteMany)
            #expect(try await client.deleteMany(["a.jpeg"]).array.first?["name"] as? String == "a.jpeg")
            #expect(try await client.deleteMany(["missing"]).text == "[]")
            client.sandbox.faults.set(.emptySuccess.times(1), for: .storageDeleteMany)
            #expect(try await client.deleteMany(["a.jpeg"]).text == "[]")
            client.sandbox.faults.set(.pretendedSuccess.times(1), for: .storageDeleteOne)
            #expect(try await client.object(.delete, "avatars/a.jpeg").status == 200)
            #expect(try await client.rows() == ["a.jpeg"])
            #expect(client.sandbox.storage.files(bucket: "avatars").count == 1)
            client.sandbox.faults.set(.emptySuccess.times(1), for: .storageList)
            #expect(try await client.list(#"{"prefix":""}"#).text == "[]")
            client.sandbox.faults.set(.emptySuccess.times(1), for: .storageListRecursively)
            #expect(try await client.listPage("{}").object["hasNext"] as? Bool == false)
        }
    }

    @Test func busyIsHTTP400WithATruthfulBody() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("a.jpeg")
            client.sandbox.faults.set(.storageBusy.times(1).only(for: "avatars"))
            let answer = try await client.deleteMany(["a.jpeg"])
            #expect(answer.status == 400 && answer["statusCode"] == "503" && answer["code"] == "SlowDown")
            client.sandbox.faults.set(.drop(.before).times(1), for: .storageDeleteMany)
            await #expect(throws: (any Error).self) { try await client.deleteMany(["a.jpeg"]) }
            #expect(try await client.rows().isEmpty)
        }
    }

    @Test func theDatabaseAwayOrReadOnly() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("a.jpeg")
            try await client.database.psql(
                "alter role supabase_storage_admin in database \(client.database.name) set default_transaction_read_only = on"
            )
            try await client.database.psql(
                """
                select pg_terminate_backend(pid) from pg_stat_activity
                where datname = current_database() and usename = 'supabase_storage_admin'
                """
            )
            // The first statement may meet the cut connection; what matters is what a fresh one is told.
            _ = try await client.deleteMany(["a.jpeg"])
            let answer = try await client.deleteMany(["a.jpeg"])
            #expect(answer.status == 400)
            #expect(answer["code"] == "DatabaseReadOnly" && answer["statusCode"] == "503")
        }
        try await Sandbox.with { sandbox async throws in
            let answer = try await Answer.to(.get, sandbox.storage.url + "/bucket")
            #expect(answer.status == 544 && answer["code"] == "DatabaseTimeout")
        }
    }

    @Test func theTriggerAgainstDeletesByHandStands() async throws {
        try await StorageClient.with { client async throws in
            _ = try await client.upload("a.jpeg")
            await #expect(throws: (any Error).self) {
                try await client.database.psql("delete from storage.objects", user: "postgres")
            }
            #expect(try await client.rows() == ["a.jpeg"])
        }
    }
}
