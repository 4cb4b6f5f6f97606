import Foundation
import Postgres
import Testing

@testable import AccountLifecycle

@Suite struct DeletionPlanTests {
    private let user = UUID()

    private func key(
        _ name: String,
        _ table: String,
        _ column: String = "user_id",
        to target: TableName = .users,
        rule: ForeignKey.DeleteRule = .cascade,
        required: Bool = false,
        indexed: Bool = true,
        schema: String = "public"
    ) -> ForeignKey {
        ForeignKey(
            name: name,
            table: TableName(schema, table),
            columns: [column],
            target: target,
            targetColumns: ["id"],
            rule: rule,
            hasRequiredColumn: required,
            isIndexed: indexed
        )
    }

    private func plan(_ keys: [ForeignKey], profiles: Bool = false) -> DeletionPlan {
        let table = DeletionCatalog.Profiles(
            table: TableName("public", "profiles"),
            key: "id",
            hasAvatarURL: true,
            texts: ["avatar_url"],
            documents: []
        )
        return DeletionPlan(DeletionCatalog(foreignKeys: keys, profiles: profiles ? table : nil))
    }

    /// The query that selects those rows of a table that are deleted.
    private func going(_ table: TableName, by plan: DeletionPlan) -> String {
        plan.parts.filter { $0.table == table }
            .map { plan.goingRows(of: $0, user: user).selecting("ctid").text }.joined()
    }

    @Test func cascadesAreFollowedOnward() {
        let plan = plan([
            key("posts_user", "posts"),
            key("comments_post", "comments", "post_id", to: TableName("public", "posts")),
            key("unrelated", "lines", "invoice", to: TableName("public", "invoices")),
        ])
        #expect(plan.parts.map(\.table.name) == ["users", "posts", "comments"])
        #expect(plan.parts.map(\.depth) == [0, 1, 2])
        #expect(plan.refusing.isEmpty)
    }

    /// The server compares names byte by byte.
    @Test func tablesWhoseNamesAreSpelledInTwoWaysAreTwo() {
        let names = ["caf\u{E9}", "cafe\u{301}"]
        let plan = plan(names.map { key("user", $0) })
        #expect(plan.parts.map { Array($0.table.name.utf8) } == (["users"] + names).map { Array($0.utf8) })
    }

    @Test func keysThatDoNotCascadeRefuseWhereverTheyAre() {
        let plan = plan([
            key("posts_user", "posts"),
            key("likes_post", "likes", "post_id", to: TableName("public", "posts"), rule: .restrict),
            key("orders_user", "orders", rule: .noAction),
            key("notes_user", "notes", rule: .setNull),
            key("bills_user", "bills", rule: .setNull, required: true),
            key("logs_user", "logs", rule: .setDefault),
        ])
        #expect(plan.refusing.map(\.name) == ["likes_post", "orders_user", "bills_user"])
        // Rows behind a key that only sets NULL stay.
        #expect(!plan.parts.contains { $0.table.name == "notes" })
    }

    @Test func theProfileGoesFirstHoweverItsKeyIsDeclared() {
        let plan = plan([key("profiles_id_fkey", "profiles", "id", rule: .noAction)], profiles: true)
        #expect(plan.refusing.isEmpty)
        #expect(Set(plan.parts.map(\.table.name)) == ["users", "profiles"])
    }

    /// A profile is deleted only by the key that makes it the account's own.
    @Test func otherKeysOfProfilesAreLikeAnyOther() {
        let profiles = TableName("public", "profiles")
        let teams = TableName("public", "teams")
        let plan = plan(
            [
                key("profiles_id_fkey", "profiles", "id", rule: .noAction),
                key("profiles_invited_by", "profiles", "invited_by", rule: .noAction),
                key("profiles_friend", "profiles", "friend", to: profiles, rule: .restrict),
                key("teams_owner", "teams", "owner_id"),
                key("profiles_team", "profiles", "team_id", to: teams, indexed: false),
            ],
            profiles: true
        )
        #expect(plan.refusing.map(\.name) == ["profiles_invited_by", "profiles_friend"])
        #expect(plan.unindexed.map(\.name) == ["profiles_team"])
        let part = plan.parts.first { $0.table == profiles }
        #expect(part?.reachedBy.map(\.name) == ["profiles_team"])
        let condition = going(profiles, by: plan)
        #expect(condition.contains("\"id\" = $1"))
        #expect(condition.contains("\"team_id\""))
    }

    @Test func aProfileThatCascadesFromAnotherIsReached() {
        let profiles = TableName("public", "profiles")
        let plan = plan(
            [
                key("profiles_id_fkey", "profiles", "id"),
                key("profiles_invited_by", "profiles", "invited_by", to: profiles),
                key("notes_profile", "notes", "profile", to: profiles),
            ],
            profiles: true
        )
        #expect(going(profiles, by: plan).contains("\"invited_by\" = $"))
        #expect(going(TableName("public", "notes"), by: plan).contains("\"invited_by\""))
    }

    @Test func anUnrelatedProfilesTableIsLikeAnyOther() {
        let plan = plan([key("profiles_owner", "profiles", "owner", rule: .noAction)])
        #expect(plan.refusing.map(\.name) == ["profiles_owner"])
    }

    @Test func holdsAreNoBlockers() {
        let hold = ForeignKey(
            name: "holds_user_id_fkey",
            table: .holds,
            columns: ["user_id"],
            target: .users,
            targetColumns: ["id"],
            rule: .restrict
        )
        #expect(plan([hold]).refusing.isEmpty)
    }

    /// Where we may not delete the row, it stays, as its key says.
    @Test func whatAnIdentityProviderWroteGoesWhereWeMayDeleteIt() {
        let key = ForeignKey(
            name: "scim_users_user_id_fkey",
            table: .provisioned,
            columns: ["user_id"],
            target: .users,
            targetColumns: ["id"],
            rule: .setNull
        )
        var catalog = DeletionCatalog(foreignKeys: [key])
        #expect(DeletionPlan(catalog).parts.map(\.table) == [.users])
        catalog.rights[.provisioned] = .init(mayRead: true, mayDelete: true, hidesRows: false)
        let beforehand = DeletionPlan(catalog).goingBeforehand
        #expect(beforehand.map { $0.map(\.table) } == [[.provisioned]])
        // The plan does not present the key as a cascade.
        #expect(beforehand.joined().flatMap(\.reachedBy).map(\.rule) == [.setNull])
    }

    @Test func cyclesAndSelfReferencesEnd() {
        let tree = TableName("public", "folders")
        let plan = plan([
            key("folders_user", "folders"),
            key("folders_parent", "folders", "parent", to: tree),
            key("files_folder", "files", "folder", to: tree),
            key("folders_cover", "folders", "cover", to: TableName("public", "files")),
        ])
        #expect(Set(plan.parts.map(\.table.name)) == ["users", "folders", "files"])
        #expect(going(tree, by: plan).contains("\"user_id\" = $1"))
        #expect(going(TableName("public", "files"), by: plan).contains("\"folder\""))
    }

    /// Only a table's owner can add an index, so Supabase's tables are left out.
    @Test func namesKeysOfTheAppWithoutAnIndex() {
        let keys = [
            key("a", "posts", indexed: false), key("b", "likes"),
            key("c", "oauth_authorizations", indexed: false, schema: "auth"),
        ]
        #expect(plan(keys).unindexed.map(\.name) == ["a"])
    }

    @Test func missingRightsAndHiddenRowsAreFaults() {
        var catalog = DeletionCatalog(foreignKeys: [key("posts_user", "posts")])
        catalog.rights[.users] = .init(mayRead: true, mayDelete: false, hidesRows: true)
        catalog.rights[TableName("public", "posts")] = .init(mayRead: false, mayDelete: false, hidesRows: false)
        let faults = DeletionPlan(catalog).faults
        #expect(faults.map(\.blocker.code) == [.missingRight, .hiddenRows, .missingRight])
        // A cascade needs no right of ours on the table it empties.
        #expect(faults.map(\.right) == ["DELETE", nil, "SELECT"])
    }

    /// Rows that refer without a cascade have to be counted: a table where we cannot see them is named.
    @Test func rightsMissingOnWhatRefusesAreFaultsToo() {
        var catalog = DeletionCatalog(foreignKeys: [key("orders_user", "orders", rule: .noAction)])
        catalog.rights[TableName("public", "orders")] = .init(mayRead: false, mayDelete: false, hidesRows: true)
        let faults = DeletionPlan(catalog).faults
        #expect(faults.map(\.table) == [TableName("public", "orders"), TableName("public", "orders")])
        #expect(faults.map(\.blocker.code) == [.missingRight, .hiddenRows])
    }

    private func groups(_ keys: [ForeignKey]) -> [[String]] {
        var catalog = DeletionCatalog(foreignKeys: keys)
        for key in keys {
            catalog.rights[key.table] = .init(mayRead: true, mayDelete: true, hidesRows: false)
        }
        return DeletionPlan(catalog).goingBeforehand.map { $0.map(\.table.name) }
    }

    /// The server checks such keys before the cascades of cascades, whatever keeps a row from losing its reference.
    @Test(arguments: [(ForeignKey.DeleteRule.noAction, false), (.restrict, false), (.setNull, true)])
    func whatRefersGoesBeforeWhatItRefersTo(_ rule: ForeignKey.DeleteRule, _ required: Bool) {
        let (posts, comments) = (TableName("public", "posts"), TableName("public", "comments"))
        let keys = [
            key("posts_user", "posts"),
            key("posts_answers", "posts", "answers", to: posts, rule: rule, required: required),
            key("comments_user", "comments"),
            key("comments_post", "comments", "post_id", to: posts, rule: rule, required: required),
        ]
        #expect(groups(keys) == [["comments"], ["posts"]])
        // What is deleted along with a post counts as the post.
        let likes = key("likes_post", "likes", "post_id", to: posts)
        let ofLike = key(
            "notes_like",
            "notes",
            "like",
            to: TableName("public", "likes"),
            rule: rule,
            required: required
        )
        #expect(groups(keys + [likes, key("notes_user", "notes"), ofLike]) == [["comments"], ["notes"], ["posts"]])
        // Neither can be deleted before the other; a table that one of them refers to can be deleted after both.
        let best = key("posts_best", "posts", "best", to: comments, rule: rule, required: required)
        let photos = TableName("public", "photos")
        let ofPhotos = [
            key("photos_user", "photos"),
            key("photos_first", "photos", "first", to: photos, rule: rule, required: required),
            key("comments_photo", "comments", "photo", to: photos, rule: rule, required: required),
        ]
        #expect(groups(keys + [best] + ofPhotos) == [["posts", "comments"], ["photos"]])
    }
}
