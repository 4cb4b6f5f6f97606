import Foundation
import Sandbox
import TestSupport

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An operator's stage with a stand-in for Storage that keeps real bytes.
struct StorageStage: Sendable {
    let stage: OperatorStage
    let sandbox: Sandbox

    static func with(_ body: @Sendable (StorageStage) async throws -> Void) async throws {
        try await OperatorStage.with { stage in
            let database = stage.database
            let configuration = SandboxConfiguration(storageOf: database, files: stage.path("storage"))
            try await Sandbox.with(configuration) { sandbox in
                let key = stage.path("storage.key")
                try sandbox.storage.keys.secretKey.write(toFile: key, atomically: true, encoding: .utf8)
                let variables = [
                    "ACCOUNTCTL_STORAGE_URL": sandbox.storage.url, "ACCOUNTCTL_STORAGE_SERVICE_KEY_FILE": key,
                ]
                try await body(
                    StorageStage(
                        stage: OperatorStage(
                            database: database,
                            folder: stage.folder,
                            variables: stage.variables.merging(variables) { $1 }
                        ),
                        sandbox: sandbox
                    )
                )
            }
        }
    }

    /// Uploads the bytes `bytes of KEY`, as a person or, if `person` is nil, by the service key.
    func upload(_ key: String, by person: String?) async throws {
        let keys = sandbox.storage.keys
        let token = try person.map { try keys.accessToken(userID: $0) } ?? keys.serviceRoleKey
        let path = key.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? key
        guard let url = URL(string: "\(sandbox.storage.url)/object/avatars/\(path)") else {
            throw TestSupportError("no URL of \(key)")
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        request.setValue(keys.anonKey, forHTTPHeaderField: "apikey")
        request.setValue("image/jpeg", forHTTPHeaderField: "Content-Type")
        let (body, response) = try await URLSession.shared.upload(for: request, from: Data("bytes of \(key)".utf8))
        guard (response as? HTTPURLResponse)?.statusCode == 200 else {
            throw TestSupportError("upload of \(key): \(String(decoding: body, as: UTF8.self))")
        }
    }

    /// Sets the length of the object whose key ends with `name`: zeros follow the present bytes.
    func setLength(of name: String, _ length: Int) throws {
        let root = stage.path("storage")
        let path = try FileManager.default.subpathsOfDirectory(atPath: root).first { path in
            var isFolder: ObjCBool = false
            let isThere = FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder)
            return isThere && !isFolder.boolValue && path.split(separator: "/").dropLast().last.map(String.init) == name
        }
        guard let path, let file = FileHandle(forUpdatingAtPath: root + "/" + path) else {
            throw TestSupportError("no bytes of \(name)")
        }
        try file.truncate(atOffset: UInt64(length))
        try file.close()
    }

    /// The keys of the objects that still have a row.
    func keys() async throws -> [String] {
        try await stage.database.psql("select name from storage.objects order by name collate \"C\"")
            .split(separator: "\n").map(String.init)
    }
}
