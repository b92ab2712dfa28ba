import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.util.Map;
import javax.net.SocketFactory;
import javax.persistence.*;
import org.eclipse.persistence.config.SessionCustomizer;
import org.eclipse.persistence.queries.ValueReadQuery;
import org.eclipse.persistence.sequencing.QuerySequence;
import org.eclipse.persistence.sessions.Session;

/** Inserts orders, whose keys are made in the way that the argument names, and prints them. */
public class Orders {
    @MappedSuperclass
    public abstract static class Order {
        public String item;
        abstract Long id();
    }

    @Entity @Table(name = "orders")
    public static class ByIdentity extends Order {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY)
        public Long id;
        Long id() { return id; }
    }

    @Entity @Table(name = "orders")
    public static class ByQuery extends Order {
        @Id @GeneratedValue(generator = "snowflake")
        public Long id;
        Long id() { return id; }
    }

    /** The generator takes an ID before the INSERT. */
    public static class Customizer implements SessionCustomizer {
        public void customize(Session session) {
            QuerySequence snowflake = new QuerySequence("snowflake", 1);
            snowflake.setSelectQuery(new ValueReadQuery("SELECT snowflake_nextval()"));
            session.getLogin().addSequence(snowflake);
        }
    }

    /** Makes connections to the server's socket, which the driver cannot. */
    public static class Sockets extends SocketFactory {
        public Socket createSocket() {
            return new Socket() {
                private SocketChannel channel;
                @Override public void connect(SocketAddress address, int timeout) throws java.io.IOException {
                    channel = SocketChannel.open(StandardProtocolFamily.UNIX);
                    channel.connect(UnixDomainSocketAddress.of(System.getenv("PGHOST") + "/.s.PGSQL.5432"));
                }
                @Override public boolean isConnected() { return channel != null; }
                @Override public InputStream getInputStream() { return Channels.newInputStream(channel); }
                @Override public OutputStream getOutputStream() { return Channels.newOutputStream(channel); }
                @Override public synchronized void close() throws java.io.IOException { channel.close(); }
            };
        }
        public Socket createSocket(String host, int port) { return createSocket(); }
        public Socket createSocket(String host, int port, java.net.InetAddress from, int of) { return createSocket(); }
        public Socket createSocket(java.net.InetAddress host, int port) { return createSocket(); }
        public Socket createSocket(java.net.InetAddress host, int port, java.net.InetAddress from, int of) {
            return createSocket();
        }
    }

    public static void main(String[] arguments) throws Exception {
        boolean byIdentity = arguments[0].equals("identity");
        EntityManagerFactory factory = Persistence.createEntityManagerFactory("shop", Map.of(
            "javax.persistence.jdbc.url", "jdbc:postgresql:postgres?socketFactory=" + Sockets.class.getName(),
            "javax.persistence.jdbc.user", "postgres",
            "eclipselink.session.customizer", Customizer.class.getName(),
            "eclipselink.weaving", "false",
            "eclipselink.logging.level", "OFF"));
        EntityManager manager = factory.createEntityManager();
        manager.getTransaction().begin();
        for (String item : new String[] {"tea", "milk", "sugar"}) {
            Order order = byIdentity ? new ByIdentity() : new ByQuery();
            order.item = item;
            manager.persist(order);
            manager.flush();
            System.out.println(item + " " + order.id());
        }
        manager.getTransaction().commit();
        factory.close();
    }
}
