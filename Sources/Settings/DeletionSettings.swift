/// The settings for deleting accounts.
package struct DeletionSettings: Sendable {
    package let grace: Duration
    package let hourlyCeiling: Int?
    package let maximumRows: Int
    package let tokenLife: Duration
    package let uploadLife: Duration
    package let buckets: [String]
    package let keptBuckets: [String]
    package let avatarFolders: [String]
    package let keptAvatarFolders: [String]

    init(_ reader: inout SettingsReader) {
        grace = reader.read(
            "deletion.grace",
            .duration(.zero ... .days(30)),
            default: .days(1),
            "The grace period: how long after a request the person can still cancel."
        )
        hourlyCeiling = reader.optional(
            "deletion.hourly_ceiling",
            .integer(1...1_000_000),
            "How many deletions may begin within an hour; further requests wait. Default: the larger of 50 and 1 % of the accounts."
        )
        maximumRows = reader.read(
            "deletion.max_rows",
            .integer(1...1_000_000_000),
            default: 1_000_000,
            "How many rows of one table a deletion may delete; with more, the request is blocked until somebody decides."
        )
        tokenLife = reader.read(
            "deletion.token_life",
            .duration(.zero ... .days(7)),
            default: .seconds(3600),
            "The longest life of an access token: after the lock-out, the last search waits for that and a minute; 0 waits for no token."
        )
        uploadLife = reader.read(
            "deletion.upload_life",
            .duration(.zero ... .days(7)),
            default: .seconds(7200),
            "How long Storage accepts an upload address that it signed; where Storage is used, the last search waits for that too."
        )
        buckets = reader.read(
            "deletion.buckets",
            .list(of: .text),
            default: [],
            "Buckets besides avatars from which the account's files are deleted."
        )
        keptBuckets = reader.read(
            "deletion.kept_buckets",
            .list(of: .text),
            default: [],
            "Buckets that may keep files of erased accounts: they are not searched, and the receipt counts what stayed."
        )
        avatarFolders = reader.read(
            "deletion.avatar_folders",
            .list(of: .text),
            default: [],
            "Folders of avatars, / for all, where ownerless files belong to accounts: one that only one profile names is deleted with that account."
        )
        keptAvatarFolders = reader.read(
            "deletion.kept_avatar_folders",
            .list(of: .text),
            default: [],
            "Folders of avatars where ownerless files belong to the app, such as stock pictures: they stay, whoever names them."
        )
        for bucket in Set(keptBuckets).intersection(buckets + ["avatars"]).sorted() {
            let list = bucket == "avatars" ? "always emptied" : "named in deletion.buckets, too"
            reader.reportConflict("deletion.kept_buckets", "the bucket \(bucket) cannot be kept: it is \(list)")
        }
        let path = { (folder: String) in folder.split(separator: "/").joined(separator: "/") }
        for folder in Set(keptAvatarFolders.map(path)).intersection(avatarFolders.map(path)).sorted() {
            let message = "the folder \(folder)/ cannot be kept: it is named in deletion.avatar_folders, too"
            reader.reportConflict("deletion.kept_avatar_folders", message)
        }
    }
}

extension Duration {
    /// The given number of days of 24 hours.
    package static func days(_ count: Int) -> Duration { .seconds(count * 86400) }
}
