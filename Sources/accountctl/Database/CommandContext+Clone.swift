import AccountLifecycle
import Postgres
import Settings

extension CommandContext {
    /// Refuses to do something at Apple or in Storage by a database that workers did not work on as it stands: a clone,
    /// or a restored backup, with the settings of another would act on the other's accounts.
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
            "this is a clone or a restored backup, unless somebody moved it: \(difference)",
            hint: "Where it was moved, start a worker first: it records that, and pauses every deletion."
        )
    }
}
