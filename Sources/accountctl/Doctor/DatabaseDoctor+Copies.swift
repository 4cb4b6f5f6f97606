import AccountLifecycle
import Postgres
import Settings

extension DatabaseDoctor {
    /// Warns if this is another database than the one that workers used, before a worker starts and pauses every
    /// deletion because of it.
    func copies(on connection: isolated Connection) throws -> [DoctorFinding] {
        let difference = try DatabaseUse.difference(
            project: settings.database.project,
            storage: settings.storage.url,
            on: connection
        )
        guard let difference else { return [] }
        return [
            DoctorFinding(
                .warning,
                "deletion.copy",
                "a clone or a restored backup, unless it was moved: \(difference)",
                why:
                    "Its open deletions are those of real people, who may have cancelled since. A worker that starts "
                    + "here pauses every deletion first.",
                todo: "After a restore, repeat the list of erasures before a worker starts: accountctl deletion replay "
                    + "FILE. A clone needs its own settings: another Storage, and no Apple settings."
            )
        ]
    }
}
