import AccountLifecycle
import Postgres
import Settings

extension CommandContext {
    /// Refuses acts at Apple or in Storage from a database that is not the one that workers have used with these
    /// settings: a clone or a restored backup with the settings of another project would act on that project's
    /// accounts.
    ///
    /// - Throws: ``CommandError``; `PostgresError`.
    func refuseClone(_ settings: Settings, on connection: isolated Connection) throws {
        let difference = try DatabaseUse.difference(
            project: settings.database.project,
            storage: settings.storage.url,
            on: connection
        )
        guard let difference else { return }
        throw CommandError(
            .blocked,
            "this is a clone or a restored backup, unless it was moved: \(difference)",
            hint: "If it was moved, start a worker first: it records the move, and pauses every deletion."
        )
    }
}
