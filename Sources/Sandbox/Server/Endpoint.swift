/// An endpoint of the simulated services, for setting faults and for the journal.
package enum Endpoint: String, Sendable, Codable, CaseIterable {
    case appleToken = "apple.token"
    case appleRevoke = "apple.revoke"
    case appleKeys = "apple.keys"
    case appleMigration = "apple.migration"
    case projectAuth = "supabase.auth-settings"
    case storageBuckets = "storage.buckets"
    case storageList = "storage.list"
    case storageListRecursively = "storage.list-v2"
    case storageDeleteMany = "storage.delete-many"
    case storageDeleteOne = "storage.delete-one"
    case storageUpload = "storage.upload"
    case storageDownload = "storage.download"

    /// A well-formed success without content, as from a service that lies by omission.
    var emptySuccess: Reply {
        switch self {
        case .appleRevoke: Reply(status: 200)
        case .appleToken, .appleMigration, .projectAuth: .text("{}", contentType: "application/json")
        case .appleKeys: .text(#"{"keys":[]}"#, contentType: "application/json")
        case .storageListRecursively:
            .text(#"{"hasNext":false,"folders":[],"objects":[]}"#, contentType: "application/json")
        case .storageBuckets, .storageList, .storageDeleteMany: .text("[]", contentType: "application/json")
        case .storageDeleteOne: .text(#"{"message":"Successfully deleted"}"#, contentType: "application/json")
        case .storageUpload: .text("{}", contentType: "application/json")
        case .storageDownload: Reply(status: 200, contentType: "application/octet-stream")
        }
    }
}
