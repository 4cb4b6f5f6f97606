import ObjectStorage

extension StorageSettings {
    /// Refuses the Storage of a project other than the database's, since its objects do not belong to these accounts.
    func checkProject(of database: DatabaseSettings, _ reader: inout SettingsReader) {
        guard let url else { return }
        guard let own = ProjectReference.ofStorage(url), let project = database.project else {
            return checkSection(&reader)
        }
        guard own != project else { return }
        let key = database.url == nil ? "the PG* variables lead" : "database.url leads"
        reader.reportConflict(
            "storage.url",
            "it leads to the project \(own), and \(key) to the project \(project): "
                + "files of the one would be deleted for accounts of the other"
        )
    }

    /// Refuses a Storage setting that an environment with its own database inherits, if the addresses do not show which
    /// project they belong to.
    private func checkSection(_ reader: inout SettingsReader) {
        guard let environment = reader.environment.name, reader.isFromSection("database.url"),
            reader.isFromFile("storage.url"), !reader.isFromSection("storage.url")
        else { return }
        reader.reportConflict(
            "storage.url",
            "it stands outside of [environments.\(environment)], which has a database of its own: files of other accounts "
                + "would be deleted; set it in [environments.\(environment).storage]"
        )
    }
}
