import Foundation
import Sandbox

/// The line that the sandbox prints when it is ready: its addresses and the paths of its keys, but never a key.
struct ReadyLine: Encodable {
    let url: String
    let storageURL: String
    let teamID: String
    let keyID: String
    let clientIDs: [String]
    let project: String
    var privateKeyFile: String?
    var serviceKeyFile: String?
    var accessTokenFile: String?
    var settingsFile: String?

    enum CodingKeys: String, CodingKey {
        case url
        case storageURL = "storage_url"
        case teamID = "team_id"
        case keyID = "key_id"
        case clientIDs = "client_ids"
        case project
        case privateKeyFile = "private_key_file"
        case serviceKeyFile = "service_key_file"
        case accessTokenFile = "access_token_file"
        case settingsFile = "settings_file"
    }

    /// Collects the values, and writes the key files if a folder is named.
    init(sandbox: Sandbox, clientIDs: [String], folder: String?) throws {
        let key = sandbox.apple.developerKey
        url = sandbox.baseURL
        storageURL = sandbox.storage.url
        teamID = key.teamID
        keyID = key.keyID
        self.clientIDs = clientIDs
        project = sandbox.project.reference
        guard let folder else { return }

        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let place = URL(fileURLWithPath: folder).path
        let privateKey = "\(place)/AuthKey_\(keyID).p8"
        let serviceKey = "\(place)/storage-secret-key"
        let accessToken = "\(place)/management-access-token"
        let settings = "\(place)/accountctl.conf"
        try Self.write(key.privateKey, to: privateKey)
        try Self.write(sandbox.storage.keys.secretKey + "\n", to: serviceKey)
        try Self.write(sandbox.project.token + "\n", to: accessToken)
        try Self.write(
            """
            # Written by accountctl-sandbox: settings that use it instead of Apple and Supabase.
            [apple]
            host = \(url)
            team_id = \(teamID)
            key_id = \(keyID)
            private_key_file = "\(privateKey)"
            client_ids = \(clientIDs.joined(separator: ","))

            [storage]
            url = \(storageURL)
            service_key_file = "\(serviceKey)"

            [supabase]
            host = \(url)
            project = \(project)
            access_token_file = "\(accessToken)"

            """,
            to: settings
        )
        privateKeyFile = privateKey
        serviceKeyFile = serviceKey
        accessTokenFile = accessToken
        settingsFile = settings
    }

    private static func write(_ text: String, to path: String) throws {
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: Data(text.utf8), attributes: attributes) else {
            throw SandboxError("cannot write \(path)")
        }
    }
}
