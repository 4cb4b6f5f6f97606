import TestSupport
import Testing

@Suite("Finding accounts by the start and by any part", .timeLimit(.minutes(5)))
struct UserFindPartTests {
    @Test("By the start and by any part, with a limit that is reported, and with wildcards taken literally")
    func parts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            func ids(_ words: String...) async throws -> Set<String?> {
                Set(try await stage.find(words).rows.map(\.id))
            }
            #expect(try await ids("--prefix", "anna") == [UserFindPeople.anna, UserFindPeople.enterprise])
            #expect(try await ids("--prefix", "ANNA@exa") == [UserFindPeople.anna, UserFindPeople.enterprise])
            #expect(try await ids("--prefix", "a%b") == [UserFindPeople.digits])
            #expect(try await ids("--prefix", "a_b") == [nil])
            #expect(try await ids("--prefix", "%") == [nil])
            #expect(try await ids("--contains", "RIVATErelay") == [UserFindPeople.hidden])
            #expect(try await ids("--contains", "%b_c") == [UserFindPeople.digits])
            #expect(try await ids("--contains", "b'd") == [nil])
            #expect(try await ids("--contains", #"c'd""#) == [UserFindPeople.digits])
            #expect(try await ids("--contains", #"\"#) == [nil])
            // The address at a provider, which searches for the whole or the start find, too.
            try await stage.database.psql(
                "update auth.identities set identity_data = '{\"email\": \"linked@example.net\"}' where provider = 'google'"
            )
            #expect(try await ids("--contains", "inked@EXAM") == [UserFindPeople.digits])
            let cut = try await stage.find(["--contains", "example", "--limit", "2"])
            #expect(cut.rows.count == 2 && cut.result.errors.contains("more than 2 accounts"), "\(cut.result.errors)")
            #expect(cut.result.errors.contains("reads the whole table"))
            for words in [["--prefix", "--contains", "a"], ["a", "--limit", "0"], ["a", "--limit", "1001"], []] {
                #expect(try await stage.find(words).result.status == 2, "\(words)")
            }
        }
    }

    @Test("The start of anything that has an index is found, and kinds that were not compared are named")
    func starts() async throws {
        try await OperatorStage.with { stage in
            try await stage.database.psql(UserFindPeople.sql)
            // An address without an identity, of somebody whom an operator added by hand.
            try await stage.database.psql(
                """
                insert into auth.users (id, email, created_at) values ('\(OperatorStage.id(9))', 'zoe@example.com', now())
                """
            )
            let terms: [(words: [String], ids: [String], matched: String)] = [
                (["ABC1"], [UserFindPeople.hidden], "email"), (["ZOE@"], [OperatorStage.id(9)], "email"),
                (["+49 (151) 1"], [UserFindPeople.anna], "phone"), (["0049151"], [UserFindPeople.anna], "phone"),
                (["001234.0123"], [UserFindPeople.hidden], "apple-sub"),
                (["g-7"], [UserFindPeople.digits], "provider-id"),
                (["anna_"], [UserFindPeople.anna], "username"), (["8D3C2A1E-5b"], [UserFindPeople.anna], "id"),
                (["8d", "--by", "id"], [UserFindPeople.anna], "id"),
                ([UserFindPeople.anna.uppercased()], [UserFindPeople.anna], "id"),
                ([String(UserFindPeople.request.dropLast(2)), "--by", "request"], [UserFindPeople.anna], "request"),
                (["42", "--by", "phone"], [UserFindPeople.digits], "phone"),
                (["4242", "--by", "username"], [UserFindPeople.enterprise], "username"),
                (["g", "--by", "provider-id"], [UserFindPeople.digits], "provider-id"),
            ]
            for (words, ids, matched) in terms {
                let (rows, result) = try await stage.find(["--prefix"] + words)
                #expect(result.status == 0, "\(words): \(result.errors)")
                #expect(rows.compactMap(\.id) == ids && rows.first?.matched == [matched], "\(words): \(result.output)")
            }
            for words in [["g-7", "--by", "apple-sub"], ["4242", "--by", "receipt"], ["zoe", "--by", "username"]] {
                #expect(try await stage.find(["--prefix"] + words).result.status == 3, "\(words)")
            }
            let short = try await stage.find(["--prefix", "ab"]).result
            #expect(short.errors.contains("not compared with it: id (from 6 hexadecimal digits on"), "\(short.errors)")
            // A number with a country code counts as a phone number, unless --by says otherwise.
            let number = try await stage.find(["--prefix", "+4915"]).result
            #expect(number.errors.contains("email (only with --by)"), "\(number.errors)")
            let address = try await stage.find(["--prefix", "+4915", "--by", "email"]).result
            #expect(address.status == 3 && !address.errors.contains("email"), "\(address.errors)")
            let other = try await stage.find(["--prefix", "ab", "--by", "phone"]).result
            #expect(other.status == 2 && other.errors.contains("cannot be the start of"), "\(other.errors)")
            let part = try await stage.find(["--contains", "ab", "--by", "phone"]).result
            #expect(part.status == 2 && part.errors.contains("--contains"), "\(part.errors)")
            // Without an index on the usernames the table is not read for them.
            try await stage.database.psql("alter table public.profiles drop constraint profiles_username_key")
            let unindexed = try await stage.find(["--prefix", "anna_"])
            #expect(unindexed.rows.map(\.state) == ["not_found"])
            #expect(unindexed.result.errors.contains("username (no index"), "\(unindexed.result.errors)")
            // Nor with an index in another order, or one that does not lead to all usernames.
            let others = [
                "(username text_pattern_ops)", "(username collate \"C\")", "(lower(username))", "(id, username)",
                "(username) where id is not null", "using hash (username)",
            ]
            for other in others {
                try await stage.database.psql("create index other on public.profiles \(other)")
                let left = try await stage.find(["--prefix", "anna_"]).result
                #expect(left.errors.contains("username (no index"), "\(other): \(left.errors)")
                try await stage.database.psql("drop index public.other")
            }
            try await stage.database.psql("create index other on public.profiles (username)")
            #expect(try await stage.find(["--prefix", "anna_"]).rows.map(\.id) == [UserFindPeople.anna])
        }
    }
}
