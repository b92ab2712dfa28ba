import { Table, TableColumn, TableForeignKey } from 'typeorm';

export class Second2000000000000 {
  async up(queryRunner) {
    const reference = (columnName, table) => new TableForeignKey({
      columnNames: [columnName], referencedTableName: table, referencedColumnNames: ['id'],
    });
    await queryRunner.createTable(new Table({
      name: 'likes',
      columns: [
        {
          name: 'id', type: 'bigint', isPrimary: true, isGenerated: true,
          generationStrategy: 'increment',
        },
        { name: 'post_id', type: 'bigint' },
        { name: 'user_id', type: 'bigint' },
      ],
    }));
    await queryRunner.createForeignKey('likes', reference('post_id', 'posts'));
    await queryRunner.createForeignKey('likes', reference('user_id', 'users'));
    await queryRunner.addColumns('posts', [
      new TableColumn({ name: 'subtitle', type: 'varchar', isNullable: true }),
      new TableColumn({ name: 'editor_id', type: 'bigint', isNullable: true }),
    ]);
    await queryRunner.createForeignKey('posts', reference('editor_id', 'users'));
  }
}
