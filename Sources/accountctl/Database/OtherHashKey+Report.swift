import AccountLifecycle

extension OtherHashKey: ReportableError {
    var report: CommandError {
        CommandError(
            .residue,
            "keys.hash_file: \(description)",
            hint: "Name the right file: with this one, receipts look changed and erased accounts are not found."
        )
    }
}
