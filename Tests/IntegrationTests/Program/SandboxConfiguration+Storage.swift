import Sandbox
import TestSupport

extension SandboxConfiguration {
    /// A configuration with a Storage over a database, with its files in a folder.
    init(storageOf database: TestDatabase, files: String) {
        self.init()
        storage = .init(
            conninfo: database.cluster.conninfo(database: database.name, user: "supabase_storage_admin"),
            folder: files
        )
    }
}
