import Postgres

extension DeletionRun {
    /// Writes the evidence, and erases the user id and the identifiers, in one transaction.
    func writeReceipt() async throws -> StepResult {
        try await services.pool.withConnection { connection in
            try await connection.transaction { connection in
                try journal.fenceFlushing(connection)
                let isOpen = try connection.first(
                    """
                    select finished_at is null
                    from accountctl.deletion_requests
                    where id = \(record.id)
                    for update
                    """,
                    as: Bool.self
                )
                guard isOpen == true else { return .recorded }
                try holdBrakesAndLookAgain(.receipt, on: connection)
                try journal.record(.receipt, .ok, StepFacts(), on: connection)
                let subject = services.vault.subject(user)
                let document = try ReceiptDocument.read(record.id, subject: subject, on: connection)
                let seal = try document.seal(with: services.vault.hashKey)
                try connection.execute(
                    """
                    insert into accountctl.deletion_receipts (request_id, subject_hash, subject_key_id, document, seal)
                    values (\(record.id), \(subject.bytes), \(subject.keyID), \(JSON(document)), \(seal))
                    """
                )
                // Earlier, cancelled requests name the same account.
                try connection.execute(
                    """
                    update accountctl.deletion_requests
                    set user_id = null,
                        subject_hash = \(subject.bytes),
                        subject_key_id = \(subject.keyID),
                        reason = null,
                        sealed_identifiers = null,
                        sealing_key_id = null,
                        banned_until_before = null,
                        cancelled_by = null,
                        situation = null,
                        situation_since = null,
                        state = case when id = \(record.id) then 'verified' else state end,
                        finished_at = coalesce(finished_at, clock_timestamp())
                    where user_id = \(user)
                    """
                )
                return .recorded
            }
        }
    }
}
