import ObjectStorage

extension StorageSettings {
    /// Refuses the Storage of another project than the database's: what is deleted there is not of these accounts.
    func checkProject(of database: DatabaseSettings, _ reader: inout SettingsReader) {
        guard let own = url.flatMap(ProjectReference.ofStorage) else { return }
        guard let project = database.project, own != project else { return }
        let key = database.url == nil ? "the PG* variables lead" : "database.url leads"
        reader.reportConflict(
            "storage.url",
            "it leads to the project \(own), and \(key) to the project \(project): "
                + "files of the one would be deleted for accounts of the other"
        )
    }
}
