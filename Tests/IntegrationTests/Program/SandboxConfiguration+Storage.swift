import Sandbox
import TestSupport

extension SandboxConfiguration {
    /// With a Storage over a database, whose files lie in a folder.
    init(storageOf database: TestDatabase, files: String) {
        self.init()
        storage = .init(
            conninfo: database.cluster.conninfo(database: database.name, user: "supabase_storage_admin"),
            folder: files
        )
    }
}
