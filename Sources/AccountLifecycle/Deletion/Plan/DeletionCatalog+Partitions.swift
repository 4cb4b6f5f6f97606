import Postgres

extension DeletionCatalog {
    /// Reads the partitioned table at the top level of each partition.
    static func readPartitionRoots(on connection: isolated Connection) throws -> [TableName: TableName] {
        let partitions = try connection.query(Self.partitions, as: (String, String, String, String).self)
            .map { (TableName($0, $1), TableName($2, $3)) }
        return Dictionary(partitions) { first, _ in first }
    }

    private static let partitions: Statement = """
        select n.nspname::text, c.relname::text, rn.nspname::text, r.relname::text
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        join pg_catalog.pg_class as r on r.oid = pg_partition_root(c.oid)
        join pg_catalog.pg_namespace as rn on rn.oid = r.relnamespace
        where c.relispartition
          and c.relkind in ('r', 'p', 'f')
        """
}
