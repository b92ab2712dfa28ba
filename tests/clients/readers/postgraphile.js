import { graphql } from 'graphql';
import { createPostGraphileSchema, withPostGraphileContext } from 'postgraphile';

export async function read(pool) {
  const schema = await createPostGraphileSchema(pool, 'public');
  const run = (query) => withPostGraphileContext({ pgPool: pool }, async (context) => {
    const { data, errors } = await graphql(schema, query, null, context);
    if (errors) throw errors[0];
    return data;
  });
  const fields = 'nodes { id cups: cupsByOrderId { nodes { id order_id: orderId } } }';
  const order = (await run(`{ allOrders(first: 1) { ${fields} } }`)).allOrders.nodes[0];
  const more = [];
  let after = '';
  // A page of one cup at a time; a cursor that is rounded skips or repeats cups.
  for (let page = 0; page < 3; page++) {
    const arguments_ = `first: 1, orderBy: PRIMARY_KEY_DESC${after && `, after: "${after}"`}`;
    const { nodes, pageInfo } =
      (await run(`{ allCups(${arguments_}) { nodes { id } pageInfo { endCursor } } }`)).allCups;
    more.push(nodes[0]?.id ?? 'none');
    after = pageInfo.endCursor ?? after;
  }
  return { id: order.id, cups: order.cups.nodes, more };
}
