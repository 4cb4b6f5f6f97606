import AccountLifecycle

extension NewHashKey: ReportableError {
    var report: CommandError {
        CommandError(
            .blocked,
            "keys.hash_file: \(OtherHashKeys(others)?.warning(ofNew: key) ?? description)",
            hint: OtherHashKeys.hintOfNew
        )
    }
}
