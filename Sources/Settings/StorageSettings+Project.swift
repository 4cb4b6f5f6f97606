import ObjectStorage
import Postgres

extension StorageSettings {
    /// Refuses the Storage of another project than the database's: what is deleted there is not of these accounts.
    func checkProject(of database: DatabaseSettings, _ reader: inout SettingsReader) {
        guard let own = url.flatMap(ProjectReference.ofStorage) else { return }
        let named = ConnectionConfiguration(conninfo: database.url).parameters
        let project = ProjectReference.ofDatabase(
            user: named["user"] ?? reader.connectionVariable("PGUSER"),
            host: named["host"] ?? reader.connectionVariable("PGHOST")
        )
        guard let project, own != project else { return }
        let key = database.url == nil ? "the PG* variables lead" : "database.url leads"
        reader.report(
            "storage.url",
            "it leads to the project \(own), and \(key) to the project \(project): "
                + "files of the one would be deleted for accounts of the other"
        )
    }
}
